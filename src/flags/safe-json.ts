import { usage } from '../errors.ts';

/** Deeper than any body that the gateway documents, and far from the depth at which writing JSON fails. */
export const MAX_JSON_DEPTH = 64;

const forbiddenNames = ['__proto__', 'constructor', 'prototype'];

/** Refuses a field name that could reach into the objects of the program. Throws `usage`. */
export function assertSafeName(name: string, named: string): void {
  if (forbiddenNames.includes(name)) {
    throw usage(`${named}: a field named ${name} is not taken`, 'no field of the gateway has that name');
  }
}

/**
 * Refuses JSON that cannot be sent as it stands: deeper than 64 levels (`levelsAbove` of which are around it), with a
 * forbidden name, or with a number too large for JSON. Walks without recursion. Throws `usage`.
 */
export function assertSafeJson(value: unknown, named: string, levelsAbove = 0): void {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: levelsAbove + 1 }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    assertFinite(each.value, named);
    if (typeof each.value !== 'object' || each.value === null) continue;
    if (each.depth > MAX_JSON_DEPTH) {
      throw usage(`${named}: nested more than ${MAX_JSON_DEPTH} levels deep`, 'make the body flatter');
    }
    if (!Array.isArray(each.value)) for (const name of Object.keys(each.value)) assertSafeName(name, named);
    for (const inner of Object.values(each.value)) {
      if (typeof inner === 'object' && inner !== null) open.push({ value: inner, depth: each.depth + 1 });
      else assertFinite(inner, named);
    }
  }
}

/** `1e999` is read as infinity, which JSON writes as null. */
function assertFinite(value: unknown, named: string): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw usage(`${named}: a number is too large`, 'write it in quotes to send it as text');
  }
}
