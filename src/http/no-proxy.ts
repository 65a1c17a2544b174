import * as net from 'node:net';

/**
 * Whether `NO_PROXY` exempts a URL, read as curl reads it: `*` exempts all; entries are separated by commas or blanks;
 * a name matches itself and what lies below it, with or without a leading dot (or `*.`); an entry may name a port;
 * addresses may be given as a network (`10.0.0.0/8`).
 */
export function isExempt(url: URL, noProxy: string | undefined): boolean {
  const entries = (noProxy ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  const host = bare(url.hostname);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return entries.some((entry) => {
    if (entry === '*') return true;
    const network = /^\[?([0-9a-f:.]+)\]?\/(\d{1,3})$/i.exec(entry);
    if (network) return isInNetwork(host, String(network[1]), Number(network[2]));
    const withPort = /^(\[[^\]]*\]|[^:]+):(\d{1,5})$/.exec(entry);
    if (withPort && withPort[2] !== port) return false;
    const name = bare((withPort?.[1] ?? entry).replace(/^\*?\.+/, ''));
    return name !== '' && (host === name || (net.isIP(host) === 0 && host.endsWith(`.${name}`)));
  });
}

/** A host name in lower case, without the brackets of IPv6 and the dot of the root. */
function bare(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function isInNetwork(host: string, network: string, bits: number): boolean {
  const family = net.isIPv6(network) ? 'ipv6' : 'ipv4';
  if (net.isIP(network) === 0 || net.isIP(host) !== net.isIP(network)) return false;
  if (bits > (family === 'ipv6' ? 128 : 32)) return false;
  const list = new net.BlockList();
  list.addSubnet(network, bits, family);
  return list.check(host, family);
}
