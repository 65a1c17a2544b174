import { type CallToolResult, Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { builtGw } from '../cli/built.ts';
import type { Place } from '../cli/place.ts';
import { closing } from '../helpers/closing.ts';

// An agent: the SDK's own client, and the built `gw mcp` as its child.

/** What a tool said. */
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
  /** How the user answers a question; without it the client cannot ask. */
  readonly confirms?: (question: string) => 'accept' | 'decline' | 'cancel';
}

export async function openAgent(
  place: Place,
  args: readonly string[] = [],
  { env, client: more, confirms }: AgentOptions = {},
): Promise<Agent> {
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
  const capabilities = confirms ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: 'test', version: '1' }, { capabilities, ...more });
  if (confirms) {
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: confirms(params.message),
      content: {},
    }));
  }
  await client.connect(transport);
  return closing({
    client,
    pid: transport.pid ?? 0,
    log: () => log,
    call: async (name, given = {}, options) =>
      saidIn((await client.callTool({ name, arguments: { ...given } }, options)) as CallToolResult),
    close: () => client.close(),
  });
}
