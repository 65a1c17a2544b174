// Prints the same stream with the official SDK, as the SDK's README shows it.
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: `${process.env.GW_BASE_URL}/v1`, apiKey: 'bench-key' });
const stream = await client.chat.completions.create({
  model: process.argv[2],
  messages: [{ role: 'user', content: 'hi' }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
