import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import {
  type CallToolResult,
  Client,
  type ClientOptions,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { builtGw } from '../cli/built.ts';
import { NearPlace } from '../cli/near-place.ts';
import type { Place } from '../cli/place.ts';
import { closing } from '../helpers/closing.ts';

// An agent: the SDK's own client and `gw mcp`, which is a child process, or runs in the test's process for a `NearPlace`.

/** The answer of a tool. */
export interface Said {
  readonly value: Readonly<Record<string, unknown>> & {
    readonly key?: string;
    readonly id?: string;
    readonly status?: string;
    readonly files?: readonly { readonly path: string }[];
    readonly error?: { readonly kind: string; readonly message: string; readonly hint?: string };
  };
  readonly kinds: readonly string[];
  readonly links: readonly string[];
}

export interface Agent {
  readonly client: Client;
  readonly pid: number;
  readonly log: () => string;
  call(name: string, args?: object, options?: Parameters<Client['callTool']>[1]): Promise<Said>;
  close(): Promise<void>;
}

const saidIn = ({ content }: CallToolResult): Said => ({
  value: JSON.parse(content[0]?.type === 'text' ? content[0].text : 'null'),
  kinds: content.map(({ type }) => type),
  links: content.flatMap((each) => (each.type === 'resource_link' ? [each.uri] : [])),
});

interface AgentOptions {
  readonly env?: Record<string, string | undefined>;
  readonly client?: ClientOptions;
  /** The user's answer to a confirmation; without this function the client cannot ask. */
  readonly confirms?: (question: string) => string;
}

type Server = (
  place: Place,
  args: readonly string[],
  env: AgentOptions['env'],
) => { transport: Transport; log: () => string; ended: () => unknown };

/** Starts the server as an agent does. */
const child: Server = (place, args, env) => {
  const [command, ...first] = builtGw().command;
  const transport = new StdioClientTransport({
    command,
    args: [...first, 'mcp', ...args],
    env: place.env(env),
    cwd: place.cwd,
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr?.on('data', (text: Buffer) => {
    log += text.toString();
  });
  return { transport, log: () => log, ended: () => {} };
};

/** Runs the server in the test's process, over the same two streams. */
const near: Server = (place, args, env) => {
  const { child, err, ended } = place.start(['mcp', ...args], { ...(env && { env }), stdin: 'open' });
  const { stdin, stdout } = child as ChildProcessWithoutNullStreams;
  const end = () => {
    stdin.end();
    return ended;
  };
  return { transport: new StdioServerTransport(stdout, stdin), log: err, ended: end };
};

export async function openAgent(
  place: Place,
  args: readonly string[] = [],
  { env, client: more, confirms }: AgentOptions = {},
): Promise<Agent> {
  const { transport, log, ended } =
    place instanceof NearPlace ? near(place, args, env) : child(place, args, env);
  const capabilities = confirms ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: 'test', version: '1' }, { capabilities, ...more });
  if (confirms) {
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: confirms(params.message) as 'accept',
      content: {},
    }));
  }
  await client.connect(transport);
  return closing({
    client,
    pid: (transport instanceof StdioClientTransport && transport.pid) || 0,
    log,
    call: async (name, given = {}, options) =>
      saidIn((await client.callTool({ name, arguments: { ...given } }, options)) as CallToolResult),
    async close() {
      await client.close();
      await ended();
    },
  });
}
