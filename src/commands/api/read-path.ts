import { type GwError, usage } from '../../errors.ts';

/** A path of the gateway as it was typed, made fit to be sent. */
export interface ApiPath {
  /** Begins with one slash; no query. */
  readonly path: string;
  /** Without its question mark; empty where there is none. */
  readonly query: string;
}

/**
 * Reads the PATH of `gw api`: a path below the gateway's address, with its query. Throws GwError `usage` for what would
 * lead elsewhere (an address, `//host`, `..`), and for what no request can hold (a fragment, blanks, control characters).
 */
export function readApiPath(typed: string): ApiPath {
  if (/^[a-z][a-z0-9+.-]*:/i.test(typed) || /^[/\\]{2}/.test(typed)) {
    throw refused(typed, 'names another place: gw sends the key to the gateway in force and nowhere else');
  }
  if (/[\s\\\p{Cc}]/u.test(typed)) throw refused(typed, 'holds a blank, a control character or a backslash');
  if (typed.includes('#')) throw refused(typed, 'has a fragment, which no request can hold');
  const at = typed.indexOf('?');
  const route = at < 0 ? typed : typed.slice(0, at);
  const path = route.startsWith('/') ? route : `/${route}`;
  // Encoded dots count as dots in a URL.
  if (path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    throw refused(typed, 'goes up or stays with . or ..');
  }
  // Braces are no parameters here, and only the first question mark begins the query.
  return {
    path: path.replaceAll('{', '%7B').replaceAll('}', '%7D'),
    query: at < 0 ? '' : typed.slice(at + 1).replaceAll('?', '%3F'),
  };
}

const refused = (typed: string, why: string): GwError =>
  usage(
    `PATH ${JSON.stringify(withoutQuery(typed))} ${why}`,
    'give the path below the gateway, such as /v1/models; another gateway is named with --base-url or --profile',
  );

/** A query may hold what is secret elsewhere. */
const withoutQuery = (typed: string): string => typed.replace(/[?#].*$/s, '').slice(0, 200);
