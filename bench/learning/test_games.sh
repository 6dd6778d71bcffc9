#!/bin/bash
# The suites of best moves and puzzles, from games that no network of ours learnt from.
#
#     M=FOLDER_WITH_MAIA_FILES bash bench/learning/test_games.sh data/test
#
# The same command goes on with what is missing.
set -e
out=$1
mkdir -p "$out"

play() {
    local pgn=$out/$1.pgn
    [ -e "$pgn" ] && return
    rm -f "$pgn.part"
    vecchess match "${@:2}" --gpus cpu --max-plies 160 --pgn "$pgn.part"
    mv "$pgn.part" "$pgn"
}
maia() { echo "lc0:$M/maia-$1.pb.gz?temperature=1"; }
label() {
    vecchess gather label "$1" --engine stockfish --nodes 100000 --every "$2" --concurrency 2 --out "$out/$3"
}

vecchess gather engine stockfish --nodes 2000 --games 200 --random-move-share 0.05 --seed 1 \
    --concurrency 2 --out "$out/engine-games"
python bench/learning/endgames.py --positions 200 --seed 1 > "$out/endgames.epd"
vecchess gather engine stockfish --nodes 2000 --games 200 --openings "$out/endgames.epd" --random-plies 0 \
    --random-move-share 0.05 --max-plies 200 --seed 3 --concurrency 2 --out "$out/endings-games"
play human "$(maia 1300)" "$(maia 1700)" --games 200 --seed 77 --random-plies 2
play weak1 greedy minimax:2 --games 100 --seed 78 --random-plies 5
play weak2 "net:bench/learning/tiny-gumbel.safetensors?search=gumbel&sims=16" minimax:2 --games 100 \
    --seed 79 --random-plies 5
cat "$out"/weak?.pgn > "$out/weak.pgn"
label "$out/engine-games" 12 engine
label "$out/human.pgn" 12 human
label "$out/weak.pgn" 20 weak
label "$out/endings-games" 10 endings
python -m bench.make_moves engine="$out/engine" human="$out/human" weak="$out/weak" endings="$out/endings" \
    > "$out/moves.epd"

play puzzles1 "$(maia 1300)" "$(maia 1900)" --games 2400 --seed 101 --random-plies 3
play puzzles2 "$(maia 1500)" "$(maia 1700)" --games 2400 --seed 102 --random-plies 3
python -m bench.make_puzzles "$out"/puzzles?.pgn --concurrency 2 --out "$out/puzzles.epd"
