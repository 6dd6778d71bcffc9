#!/bin/bash
# Games of a network against itself and Maia networks, labelled with the policy of Maia-1900.
#
#     M=FOLDER_WITH_MAIA_FILES NET=FILE bash bench/learning/human_labels.sh 1 data/human
#
# 1, 2: the games of the fourth course's first or second part. The same command goes on with what is missing.
set -e
part=$1 out=$2 net="net:$NET"
mkdir -p "$out"

play() {
    local name=$1 every=$2 pgn=$out/$1.pgn
    if [ ! -e "$pgn" ]; then
        rm -f "$pgn.part"
        vecchess match "${@:3}" --gpus cpu:2 --threads 1 --random-plies 4 --max-plies 200 --pgn "$pgn.part"
        mv "$pgn.part" "$pgn"
    fi
    vecchess gather label "$pgn" --lc0 "$M/maia-1900.pb.gz" --every "$every" --concurrency 2 --out "$out/$name"
}

if [ "$part" = 1 ]; then
    play n11 1 "$net?temperature=0.4" "lc0:$M/maia-1100.pb.gz?temperature=0.4" --games 2000 --seed 111
    play nn 2 "$net?temperature=0.7" "$net?temperature=0.4" --games 10000 --seed 112
    play n15 1 "$net?temperature=0.3" "lc0:$M/maia-1500.pb.gz?temperature=0.4" --games 1000 --seed 113
    play nn2 2 "$net?temperature=1" "$net?temperature=0.7" --games 12000 --seed 114
else
    play n11b 1 "$net?temperature=0.3" "lc0:$M/maia-1100.pb.gz?temperature=0.3" --games 7000 --seed 211
    play n15b 1 "$net?temperature=0.2" "lc0:$M/maia-1500.pb.gz?temperature=0.3" --games 2000 --seed 213
fi
