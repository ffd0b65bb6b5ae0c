#!/bin/sh
# Makes the secrets of compose.yaml in the folder secrets, where they do not exist.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
random() { openssl rand -hex 32; }
make() { [ -e "secrets/$1" ] || printf '%s' "$2" > "secrets/$1"; }
make api-key "sk_$(random)"
make public-key "pk_$(random)"
make secret-key "$(random)"
make signing-key "$(random)"
make files-secret "$(random)"
make database-password "$(random)"
make database-url "postgres://parley:$(cat secrets/database-password)@127.0.0.1:5432/parley"
# Containers read them as other users; the folder itself keeps others out.
chmod 644 secrets/*
