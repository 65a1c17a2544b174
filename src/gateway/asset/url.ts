import { mediaFormats } from '../limits.ts';
import type { AssetType } from './fields.ts';

// "Asset URLs must be publicly reachable HTTP/HTTPS": the checks that need only the text of the URL.

const toDo = 'put the file where anybody can fetch it, and give its https:// address';

/** Why the service cannot fetch this address, and what to do; undefined if it may be able to. */
export function assetUrlBreach(address: string): string | undefined {
  if (/[\s\p{Cc}]/u.test(address))
    return 'an address has no white space or control characters; write a blank as %20';
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]+):/.exec(address)?.[1]?.toLowerCase();
  if (scheme === 'asset') return 'this is an asset already; use it as it stands';
  if (scheme === 'data') return `gw sends only the address of a file here, not the file; ${toDo}`;
  if (scheme === undefined || scheme === 'file')
    return `a path on this machine is out of the service's reach; ${toDo}`;
  if (scheme !== 'http' && scheme !== 'https')
    return `only http:// and https:// addresses are fetched; ${toDo}`;
  if (!/^https?:\/\/[^/]/i.test(address) || !URL.canParse(address))
    return 'not a complete address; write it out: https://host/path';
  // URL parsers disagree about a backslash: some read it as a slash, others as part of the host name.
  if (address.includes('\\')) return 'an address has no backslash; write it as %5C';
  const { username, password } = new URL(address);
  if (username !== '' || password !== '' || /^https?:\/\/[^/?#]*@/i.test(address))
    return `an address with a user or password is not public; ${toDo}`;
  const host = new URL(address).hostname.replace(/\.$/, '');
  return isPublicHost(host) ? undefined : `${host} is not a public host; ${toDo}`;
}

const privateName = /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home\.arpa)$/;

/** A host as a URL writes it: lower case, IPv4 in four decimal numbers, IPv6 in brackets. */
function isPublicHost(host: string): boolean {
  if (host.startsWith('[')) return isPublicIpv6(host.slice(1, -1));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return isPublicIpv4(host.split('.').map(Number));
  return host.includes('.') && !privateName.test(host);
}

/** First address and prefix length of each range that is not routed on the public internet (RFC 6890). */
const privateIpv4: readonly (readonly [number, number])[] = (
  [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 3],
  ] as const
).map(([first, bits]) => [ipv4Number(first.split('.').map(Number)), bits]);

function ipv4Number(parts: readonly number[]): number {
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function isPublicIpv4(parts: readonly number[]): boolean {
  const address = ipv4Number(parts);
  return !privateIpv4.some(
    ([first, bits]) => Math.floor(address / 2 ** (32 - bits)) === first / 2 ** (32 - bits),
  );
}

function isPublicIpv6(address: string): boolean {
  const groups = ipv6Groups(address);
  const [head = 0] = groups;
  const embedded = groups.slice(6).flatMap((group) => [group >> 8, group & 255]);
  const startsWith = (...first: number[]) => first.every((group, at) => groups[at] === group);
  // IPv4 embedded in an IPv6 address: mapped, compatible (includes :: and ::1), NAT64, and 6to4 below.
  if (
    startsWith(0, 0, 0, 0, 0, 0xffff) ||
    startsWith(0, 0, 0, 0, 0, 0) ||
    startsWith(0x64, 0xff9b, 0, 0, 0, 0)
  ) {
    return isPublicIpv4(embedded);
  }
  if (startsWith(0x2002))
    return isPublicIpv4(groups.slice(1, 3).flatMap((group) => [group >> 8, group & 255]));
  // 2001:db8::/32 and 3fff::/20 are reserved for documentation.
  if (startsWith(0x2001, 0xdb8) || (head === 0x3fff && (groups[1] ?? 0) < 0x1000)) return false;
  // Only 2000::/3 is routed: unique local, link local, site local and multicast addresses lie outside.
  return head >= 0x2000 && head <= 0x3fff;
}

/** The eight 16-bit groups of an IPv6 address in the URL parser's spelling. */
function ipv6Groups(address: string): number[] {
  const [left = '', right] = address.split('::');
  const read = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [head, tail] = [read(left), read(right ?? '')];
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array.from({ length: zeros }, () => 0), ...tail];
}

const typeOfModality = { image: 'Image', video: 'Video', audio: 'Audio' } as const;
const otherEndings: Readonly<Record<string, string>> = { jpg: 'jpeg', tif: 'tiff' };

/** The asset type of the file name extension in an address; undefined if the library takes no such file. */
export function assetTypeOfUrl(address: string): AssetType | undefined {
  if (!URL.canParse(address)) return undefined;
  const ending = /\.([A-Za-z0-9]{1,5})$/.exec(new URL(address).pathname)?.[1]?.toLowerCase();
  if (ending === undefined) return undefined;
  const format = otherEndings[ending] ?? ending;
  for (const [modality, formats] of Object.entries(mediaFormats)) {
    if ((formats as readonly string[]).includes(format))
      return typeOfModality[modality as keyof typeof typeOfModality];
  }
  return undefined;
}
