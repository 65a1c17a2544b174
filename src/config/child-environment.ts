import { usage } from '../errors.ts';
import type { Environment } from './environment.ts';

// The environment of programs that gw starts contains only the variables named here (promises, section 5).

/** Exact names, on every system; the last three lines are for Windows. */
const named = new Set(
  `PATH HOME USER LOGNAME SHELL TERM TZ LANG LANGUAGE TMPDIR TMP TEMP HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
  DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK
  SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT OS USERNAME USERPROFILE HOMEDRIVE
  HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PUBLIC
  NUMBER_OF_PROCESSORS`.split(/\s+/),
);
const families = /^(LC_|XDG_|PROGRAMFILES|COMMONPROGRAMFILES|PROCESSOR_)/i;
/** These variables give access to a gateway or a queue, so no child process gets them. */
const never = new Set(['GW_API_KEY', 'GW_REDIS_URL']);

/** The environment of a program that gw starts; `also` are the names of the setting `children_env`. */
export function childEnvironment(env: Environment, also: readonly string[] = []): Record<string, string> {
  const taken = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !never.has(entry[0].toUpperCase()) &&
      (named.has(entry[0].toUpperCase()) || families.test(entry[0]) || also.includes(entry[0])),
  );
  return Object.fromEntries(taken);
}

/** Parses `AWS_PROFILE, GNUPGHOME` into names. Throws `usage` for an invalid name, and for one that no program may get. */
export function parseNames(text: string, what: string): readonly string[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const odd = names.find((name) => !/^[A-Za-z_]\w*$/.test(name));
  if (names.length === 0 || odd !== undefined)
    throw usage(`${what} ${odd ?? text}: not the name of a variable`, 'write names with commas between them');
  const secret = names.find((name) => never.has(name.toUpperCase()));
  if (secret !== undefined)
    throw usage(`${what} ${secret}: no program that gw starts gets it`, 'leave it out');
  return names;
}
