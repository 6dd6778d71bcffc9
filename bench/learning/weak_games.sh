#!/bin/bash
# Games of weak and human-like players, whose positions the default network learns from.
#
#     M=FOLDER_WITH_MAIA_FILES bash bench/learning/weak_games.sh data/pgn
#
# The same command goes on with the matches that are missing.
set -e
out=$1 own="net:bench/learning/tiny-gumbel.safetensors?search=gumbel&sims=16"
mkdir -p "$out"

play() {
    local pgn=$out/$1.pgn
    [ -e "$pgn" ] && return
    rm -f "$pgn.part"
    vecchess match "${@:2}" --gpus cpu --threads 1 --max-plies 160 --pgn "$pgn.part"
    mv "$pgn.part" "$pgn"
}
human() {
    play "human$1$2" "lc0:$M/maia-$1.pb.gz?temperature=1" "lc0:$M/maia-$2.pb.gz?temperature=1" \
        --games 2600 --seed "$1"
}

human 1100 1900
human 1300 1700
human 1500 1900
human 1700 1900
human 1100 1500
human 1300 1900
human 1900 1900
play mm12 greedy minimax:2 --games 2000 --random-plies 4 --seed 2
play mm23 minimax:2 minimax:3 --games 3000 --random-plies 4 --seed 3
play own "$own" minimax:2 --games 2000 --random-plies 4
play own2 "$own" "lc0:$M/maia-1100.pb.gz?temperature=1" --games 2000 --random-plies 2
