#!/bin/bash
# Games of the default network against Maia networks and itself, labelled with five lines each.
#
#     M=FOLDER_WITH_MAIA_FILES bash bench/learning/own_games.sh data/own
#
# The same command goes on with what is missing.
set -e
out=$1
mkdir -p "$out"

play() {
    local name=$1 pgn=$out/$1.pgn
    if [ ! -e "$pgn" ]; then
        rm -f "$pgn.part"
        vecchess match "${@:2}" --gpus cpu --threads 1 --random-plies 4 --max-plies 200 --pgn "$pgn.part"
        mv "$pgn.part" "$pgn"
    fi
    vecchess gather label "$pgn" --engine stockfish --nodes 2000 --multipv 5 --every 2 --concurrency 3 \
        --out "$out/$name"
}
net() { echo "net:?temperature=$1"; }
maia() { echo "lc0:$M/maia-$1.pb.gz?temperature=$2"; }

for round in 0 1; do
    play "n11-$round" "$(net 0.4)" "$(maia 1100 0.4)" --games 1600 --seed "${round/0/}11"
    play "n15-$round" "$(net 0.4)" "$(maia 1500 0.4)" --games 1200 --seed "${round/0/}15"
    play "n19-$round" "$(net 0.3)" "$(maia 1900 0.6)" --games 1200 --seed "${round/0/}19"
    play "nn-$round" "$(net 0.6)" "$(net 0.3)" --games 1600 --seed "${round/0/}21"
done
play g11 "net:?search=gumbel&sims=32" "$(maia 1100 0.5)" --games 700 --seed 31
play a11 net: "$(maia 1100 0)" --games 800 --seed 41
play a13 net: "$(maia 1300 0.3)" --games 800 --seed 42
play a17 "$(net 0.3)" "$(maia 1700 0.3)" --games 800 --seed 43
