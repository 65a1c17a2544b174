import { betaCreateOf, betaCreateTextTurbo } from '../../../gateway/beta/create.ts';
import { BetaO1Body } from '../../../gateway/beta/o1.ts';
import { betaO1Warnings } from '../../../gateway/beta/o1-rules.ts';
import { betaReplyWarning } from '../../../gateway/beta/reply.ts';
import { betaFamily } from '../../../gateway/beta/task.ts';
import { betaTextWarnings, fillBetaTurbo } from '../../../gateway/beta/text.ts';
import { videoCreate } from '../create-video.ts';
import { betaBody, betaFlagOf } from './body.ts';
import { type BetaFlags, betaFlags, betaVariant } from './flags.ts';
import { betaMedia } from './references.ts';

function endpointOf(flags: BetaFlags) {
  const { mode, turbo } = betaVariant(flags);
  const endpoint = betaCreateOf(mode, turbo);
  if (!endpoint) throw new Error(`no endpoint for the mode ${mode}`);
  return endpoint;
}

export const create = videoCreate({
  family: betaFamily,
  flags: betaFlags,
  endpointOf,
  schemaOf: (flags) => endpointOf(flags).body,
  modelOf: (flags) => betaVariant(flags).model,
  media: betaMedia,
  totalReferenceS: () => undefined,
  promptNeed: ({ shot, element }) => (shot ? 'given' : element ? 'optional' : 'required'),
  body: betaBody,
  fill: (body, flags) => (endpointOf(flags) === betaCreateTextTurbo ? fillBetaTurbo(body) : body),
  warnings: (body, flags) => {
    const { mode, settings } = betaVariant(flags);
    if (!settings) return [];
    if (mode === 'text') return [...betaTextWarnings(body)];
    const parsed = BetaO1Body.safeParse(body);
    return parsed.success ? [...betaO1Warnings(parsed.data as BetaO1Body)] : [];
  },
  replyWarning: betaReplyWarning,
  flagOf: betaFlagOf,
  examples: [
    'gw video beta create --sandbox "a paper boat on a calm sea at dawn" --duration 3 --wait',
    'gw video beta create --sandbox --turbo --shot "2:a fox wakes up" --shot "3:it runs through the snow" --wait -o clips/',
    'gw video beta create --sandbox --mode o1 "@fox runs" --image fox=https://example.com/fox.png --ratio 1:1 --dry-run',
  ],
  notes: [
    'The bodies of the modes image, omni and motion are not documented: they take --prompt, the settings and options, ' +
      '--body FILE and --set PATH=VALUE, and what they are given is sent as it is. ' +
      'With --mode o1 a reference may have an ID of its own (--image fox=fox.png), by which the prompt calls it (@fox); ' +
      'a file whose name holds a = is written ./a=b.png. ' +
      'gw gives every task an external ID, so that a create whose reply was lost is found again, and not sent twice.',
  ],
});
