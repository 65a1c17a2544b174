import { lookup as lookUp } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { once } from '../host.ts';
import { isLocalName } from '../loopback.ts';
import { ExchangeError, exchangeCodes, type Transport, type WireRequest } from './exchange.ts';

// Checks where an output's link leads: a gateway's link must not make gw connect to this machine or its network.

type Inside = 'an address of this machine' | 'a link-local address' | "an address of a cloud's own services";

const networks: readonly (readonly [Inside, readonly (readonly [string, number])[]])[] = [
  [
    'an address of this machine',
    [
      ['127.0.0.0', 8],
      ['0.0.0.0', 8],
      ['::1', 128],
      ['::', 128],
      // The IPv4 addresses of this machine in NAT64 (RFC 6052) and 6to4 (RFC 3056) form.
      ['64:ff9b::7f00:0', 104],
      ['64:ff9b::', 104],
      ['2002:7f00::', 24],
      ['2002::', 24],
    ],
  ],
  [
    'a link-local address',
    [
      ['169.254.0.0', 16],
      ['fe80::', 10],
      ['64:ff9b::a9fe:0', 112],
      ['2002:a9fe::', 32],
    ],
  ],
  [
    // These services give the machine's cloud credentials to any program on it.
    "an address of a cloud's own services",
    [
      ['fd00:ec2::', 32],
      ['100.100.100.200', 32],
      ['168.63.129.16', 32],
    ],
  ],
];
/** Built when a link is first followed, because it takes milliseconds. */
const lists = once(() =>
  networks.map(([inside, subnets]) => {
    const list = new BlockList();
    for (const [network, bits] of subnets) list.addSubnet(network, bits, familyOf(network));
    return { inside, list };
  }),
);

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** The kind of an internal IP address; undefined for a public one. IPv4 in IPv6 counts as its IPv4 address. */
export function insideOf(address: string): Inside | undefined {
  return lists().find(({ list }) => list.check(address, familyOf(address)))?.inside;
}

/**
 * A transport for outputs. It refuses a link to loopback or to a link-local address, also through a host name, unless
 * the gateway is there too. It warns once about `http` from an `https` gateway. The same holds for each redirect.
 */
export function outputTransport(
  transport: Transport,
  { baseUrl, warn }: { readonly baseUrl: string; readonly warn: (text: string) => void },
): Transport {
  const gateway = new URL(baseUrl);
  let hasWarned = false;
  let gatewayInside: Promise<ReadonlySet<Inside | undefined>> | undefined;

  const check = (found: readonly string[], host: string): Promise<void> | undefined => {
    // A local name counts as this machine, whatever a resolver or a proxy makes of it.
    const addresses = isLocalName(host) ? ['127.0.0.1'] : found;
    const inside = addresses.map(insideOf).find((each) => each !== undefined);
    if (inside === undefined) return undefined;
    gatewayInside ??= insidesOf(gateway);
    return gatewayInside.then((insides) => {
      if (insides.has(inside)) return;
      const where = isIP(host) === 0 ? `${host} leads to ${inside}` : `${host} is ${inside}`;
      throw new ExchangeError(
        `the link is not followed: ${where}, and the gateway is not there`,
        'no',
        exchangeCodes.refusedAddress,
      );
    });
  };
  const checked = (request: WireRequest): WireRequest => {
    if (request.url.protocol === 'http:' && gateway.protocol === 'https:' && !hasWarned) {
      hasWarned = true;
      warn(
        `the output's link is http, not https: anyone in between can read or change what comes from ${request.url.host}`,
      );
    }
    return { ...request, checkAddresses: check };
  };
  return {
    exchange: (request) => transport.exchange(checked(request)),
    stream: (request, handler) => transport.stream(checked(request), handler),
    close: () => transport.close(),
  };
}

async function insidesOf({ hostname }: URL): Promise<ReadonlySet<Inside | undefined>> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const found = await lookUp(host, { all: true }).catch(() => []);
  return new Set(found.map(({ address }) => insideOf(address)));
}
