import type * as v8Module from 'node:v8';

/**
 * Keeps V8 of Node 20 from optimising undici's parser while the first reply is read: that costs some 45 ms of CPU and
 * the exit waits for it. Later versions of Node do not have the problem. The flag is set as late and as short as
 * possible, because it is part of the key of V8's code caches.
 */
export function tuneFirstReply(): () => void {
  if (!process.versions.node.startsWith('20.')) return () => {};
  const v8: typeof v8Module = process.getBuiltinModule('node:v8');
  v8.setFlagsFromString('--liftoff-only');
  return () => v8.setFlagsFromString('--no-liftoff-only');
}
