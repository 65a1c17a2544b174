import { defineCommand } from '../../command.ts';
import { manifestArgs, nameFlags, openRows, redisFlag } from './flags.ts';

const flags = { ...nameFlags, redis: redisFlag } as const;

/** `gw batch cancel`: rows that were not sent yet are taken out of the queue. */
export const cancel = defineCommand<typeof flags, { readonly cancelled: number; readonly left: number }>({
  args: manifestArgs,
  flags,
  examples: [
    `printf 'command,id,prompt\\nimage create,boat,a paper boat\\n' > b.csv && gw batch cancel b.csv --redis redis://127.0.0.1:6399 --sandbox || echo no Redis there`,
  ],
  notes: ['What was sent goes on; gw batch run with the same manifest puts what was taken out back.'],
  sends: 'nothing',
  human: ({ cancelled, left }) =>
    `${cancelled} taken out${left > 0 ? `, ${left} were sent, are over or are not there` : ''}\n`,
  async run({ args, flags }, ctx) {
    const input = await openRows(args, flags, ctx);
    try {
      const { cancelOnMachines } = await import('../machines/queue-status.ts');
      return { value: await cancelOnMachines(input, flags.redis ?? '', ctx) };
    } finally {
      input.close();
    }
  },
});
