import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { resolveMedia } from '../../media/resolve.ts';
import { readTextInput } from '../../media/text-input.ts';
import type { CommandContext } from './commands.ts';
import { expandHome } from './complete.ts';
import type { Conversation } from './conversation.ts';
import { saveConversation } from './save-conversation.ts';

/** What the commands of a conversation work on, and with. */
export function makeCommandContext(
  conversation: Conversation,
  screen: Pick<CommandContext, 'show' | 'copy' | 'columns'>,
  { host, io, signal }: Context,
): CommandContext {
  const inHome = (file: string) => expandHome(file, host.homeDir);
  return {
    conversation,
    ...screen,
    readImage: async (reference) => {
      const { items, breaches } = await resolveMedia(
        [
          {
            raw: inHome(reference),
            flag: '/image',
            modality: 'image',
            takes: { url: true, base64: true, schemes: [] },
          },
        ],
        {},
        { cwd: host.cwd, assetsDir: host.assetsDir, signal },
      );
      const [breach] = breaches;
      const [item] = items;
      if (breach !== undefined || item === undefined) throw usage(breach ?? '/image: nothing was read');
      return { type: 'image', url: item.url };
    },
    readText: async (value) => {
      if (!value.startsWith('@')) return value;
      const file = inHome(value.slice(1));
      // `-` is stdin to other flags; here the keys come from there.
      const named = `@${file === '-' ? './-' : file}`;
      return readTextInput(named, '/system', { stdin: host.stdin, cwd: host.cwd, signal });
    },
    save: async (file) =>
      saveConversation(conversation, file, { host, hideSecret: (text) => io.withoutSecrets(text) }),
  };
}
