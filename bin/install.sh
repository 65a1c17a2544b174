#!/bin/sh
# Installs gw as a single file, without Node, from a release: the folder or URL of the files that `npm run binaries` made.
#
#   sh install.sh RELEASE [DIRECTORY]      # DIRECTORY: the target folder (default ~/.local/bin)
set -eu

fail() {
  echo "error: $1" >&2
  echo "hint: $2" >&2
  exit 1
}

release=${1-}
[ -n "$release" ] || fail 'no release is named' 'sh install.sh https://HOST/RELEASE, or sh install.sh FOLDER'
directory=${2:-${HOME:?}/.local/bin}

case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=macos ;;
  *) fail "there is no file for $(uname -s)" 'on Windows, run install.ps1 in PowerShell' ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no file for a processor of $(uname -m)" 'install Node and the tarball of the release instead' ;;
esac
name=gw-$system-$arch

mkdir -p "$directory"
# In the target's folder, so that a rename replaces gw atomically; a running gw keeps its old file.
work=$(mktemp -d "$directory/.gw-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

bring() {
  case $release in
    *://*)
      if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$work/$1" "${release%/}/$1"
      elif command -v wget >/dev/null; then
        wget -q -O "$work/$1" "${release%/}/$1"
      else
        fail 'neither curl nor wget is installed' 'install one of them, or name a folder that holds the release'
      fi
      ;;
    *) cp "$release/$1" "$work/$1" ;;
  esac || fail "$release: $1 could not be had" 'check the address of the release'
}

digest() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    openssl dgst -sha256 -r "$1"
  fi
}

bring SHA256SUMS
bring "$name"
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\$/\1/p" "$work/SHA256SUMS")
[ -n "$want" ] || fail "SHA256SUMS of $release does not name $name" 'take the whole release'
have=$(digest "$work/$name" | cut -c 1-64)
[ "$have" = "$want" ] || fail "$name is not the file that SHA256SUMS of $release names" 'take it again; if that does not help, do not run it'

chmod 755 "$work/$name"
[ ! -d "$directory/gw" ] || fail "$directory/gw is a directory" 'name another directory'
mv -f "$work/$name" "$directory/gw"
echo "$directory/gw"
case :$PATH: in
  *:"$directory":*) ;;
  *) echo "note: $directory is not in PATH; add it: export PATH=\"$directory:\$PATH\"" >&2 ;;
esac
