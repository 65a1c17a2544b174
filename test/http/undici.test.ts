import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import * as undici from 'undici';
import { expect, test } from 'vitest';
import * as lean from '../../src/http/lean-undici.ts';

const sources = path.join(import.meta.dirname, '../../src');

test('undici is at least 7.29.1, where a paused body no longer loses the end of a connection', () => {
  const { version } = createRequire(import.meta.url)('undici/package.json') as { version: string };
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(7_029_001);
});

test('the lean undici exports exactly what the sources import, and the same things', () => {
  const imported = new Set<string>();
  for (const file of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const text = readFileSync(path.join(sources, file), 'utf8');
    for (const [, type, names = ''] of text.matchAll(/import (type )?\{([^}]*)\} from 'undici'/g)) {
      for (const name of names.split(',').map((each) => each.trim())) {
        if (!type && name !== '' && !name.startsWith('type ')) imported.add(name);
      }
    }
  }
  expect([...imported]).toEqual(Object.keys(lean));
  for (const [name, value] of Object.entries(lean)) {
    expect(value).toBeTypeOf('function');
    expect(value).toBe((undici as Record<string, unknown>)[name]);
  }
});
