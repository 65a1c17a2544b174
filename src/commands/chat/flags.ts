import { chatApis } from '../../chat/chat.ts';
import { DEFAULT_MAX_TOKENS } from '../../chat/messages/default-limit.ts';
import { usage } from '../../errors.ts';
import { list, on, onOff, parsed, text } from '../../flags/flag.ts';
import { reasoningEfforts, thinkingLevels } from '../../gateway/chat/models.ts';

const number = (value: string, summary: string) =>
  parsed(value, summary, (raw, flag) => {
    if (/^-?(\d+\.?\d*|\.\d+)$/.test(raw)) return Number(raw);
    throw usage(`${flag} ${raw}: not a number`, `write it as 0.7`);
  });

const wholeNumber = (value: string, summary: string) =>
  parsed(value, summary, (raw, flag) => {
    if (/^\d{1,9}$/.test(raw)) return Number(raw);
    throw usage(`${flag} ${raw}: not a whole number`, 'write it in digits');
  });

const thinking = parsed('adaptive|N|off', 'thinking: adaptive, a budget of N tokens, or off', (raw, flag) => {
  if (raw === 'adaptive' || raw === 'off') return raw;
  if (/^\d{1,9}$/.test(raw)) return Number(raw);
  throw usage(`${flag} ${raw}: neither adaptive nor off nor a number of tokens`, 'write --thinking adaptive');
});

export const chatFlags = {
  api: parsed(
    chatApis.join('|'),
    'the endpoint (default completions): chat completions, native messages, or Gemini-style',
    (raw, flag) => {
      const found = chatApis.find((api) => api === raw);
      if (found) return found;
      throw usage(`${flag} ${raw}: one of ${chatApis.join(', ')}`);
    },
    { choices: chatApis },
  ),
  model: text('MODEL', 'model ID', { short: 'm', completes: 'model:chat' }),
  prompt: text('TEXT', 'the prompt, instead of words after the command; @FILE reads a file, - reads stdin', {
    short: 'p',
    completes: 'prompt',
  }),
  system: text('TEXT', 'system prompt; @FILE reads a file, - reads stdin', { completes: 'prompt' }),
  image: list('REF', 'image for the prompt: file, URL, data URI, or - for a picture on stdin'),
  messages: text('FILE', 'the whole conversation as JSON, - is stdin; a prompt follows after it'),
  session: text('NAME', 'continue a stored conversation, or begin one', { completes: 'session' }),
  continue: on('continue the session that was talked in last'),
  new: on('start the session over; the old one is kept aside'),
  temperature: number('N', 'sampling temperature'),
  topP: number('N', 'nucleus sampling (messages, geo)'),
  topK: wholeNumber('N', 'sample from the K likeliest tokens (messages, geo)'),
  stop: list('TEXT', 'end the answer before this text (messages, geo)'),
  maxTokens: wholeNumber(
    'N',
    `output limit in tokens, reasoning included (messages require one: ${DEFAULT_MAX_TOKENS}, with a thinking budget on top)`,
  ),
  compatMaxTokens: on('spell the limit max_tokens (completions)'),
  reasoningEffort: text(
    reasoningEfforts.join('|'),
    'how much to reason, depending on the model (completions)',
    {
      choices: reasoningEfforts,
    },
  ),
  thinking,
  thinkingLevel: parsed(
    thinkingLevels.join('|'),
    'how much to think (completions with a geo model, geo)',
    (raw, flag) => {
      const found = thinkingLevels.find((level) => level === raw.toLowerCase());
      if (found) return found;
      throw usage(`${flag} ${raw}: one of ${thinkingLevels.join(', ')}`);
    },
    { choices: thinkingLevels },
  ),
  showThoughts: on("the model's thoughts on stderr"),
  tool: list('FILE', 'JSON description of a function that the model may call'),
  toolChoice: text('auto|none|required|NAME', 'which tool the model calls'),
  toolResult: list(
    'ID=VALUE',
    'what a called tool gave back; needs the conversation (--session or --messages)',
  ),
  responseFormat: text(
    'json_object|FILE',
    'answer in JSON, or by the JSON schema in a file (completions, geo)',
  ),
  stream: onOff('the answer as it comes (the default); with --json one event a line'),
  raw: on('the answer as it came, its Markdown not drawn on a terminal'),
  usage: on('token figures on stderr'),
} as const;
