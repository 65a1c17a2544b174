import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { builtGw } from '../cli/built.ts';
import { newDir } from '../helpers/new-dir.ts';

// An asset's whole life as a user's script: in a pipe, with `set -e`, against the embedded sandbox of one home.

const dir = newDir();
beforeAll(() => {
  mkdirSync(path.join(dir, 'bin'));
  writeFileSync(path.join(dir, 'bin/gw'), `#!/bin/sh\nexec ${builtGw().command.join(' ')} "$@" --sandbox\n`, {
    mode: 0o755,
  });
});

const script = `
set -euo pipefail
group=$(gw asset group create --name foxes --description "winter shots" -q)
image=$(gw asset create --group "$group" --url https://example.com/fox.png --name "fox, front" --wait)
video=$(gw asset upload --group "$group" --url https://example.com/fox.mp4 --name "fox runs")
gw asset wait "$video" "asset://$image" -q | sort > ready
printf '%s\\n' "$video" "$image" | sort | cmp - ready
task=$(gw video alpha create "the fox of image 1 runs as in video 1" -m 2.0 --image "asset://$image" --video "asset://$video")
gw video alpha get "$task" | grep -q "^model  *alpha-video-2-0-260128"
gw asset get "$image" | grep -q "^LastInferenceTime  *20"
gw asset list --status Active --all -q | sort | cmp - ready
gw asset list --name front --json | grep -q '"fox, front"'
gw asset update "$image" --name "red fox" -q
gw asset list --name red -q | xargs gw asset get --json | grep -q '"Name":"red fox"'
gw asset delete "$video" --yes -q
if gw asset get "$video" 2> gone; then exit 90; else test $? -eq 4; fi
grep -q "ResourceNotFound, request " gone
if gw video alpha create "video 1" -m 2.0 --video "asset://$video" 2> unpaid; then exit 91; else test $? -eq 4; fi
if gw asset delete "$image" 2> asked; then exit 92; else test $? -eq 2; fi
gw asset group delete "$group" --yes 2> loss
grep -q "1 asset becomes unusable" loss
test -z "$(gw asset list --all -q)"
test -z "$(gw asset group list -q)"
echo lived
`;

test('an asset lives its life in a script', () => {
  const run = spawnSync('bash', ['-c', script], {
    cwd: dir,
    env: { PATH: `${dir}/bin:${process.env.PATH}`, HOME: dir, CI: 'true' },
    encoding: 'utf8',
    timeout: 250_000,
  });
  expect(run.stderr).not.toMatch(/unexpected error/);
  expect({ status: run.status, out: run.stdout.trim().split('\n').at(-1), err: run.stderr }).toMatchObject({
    status: 0,
    out: 'lived',
  });
});
