import { imageSize } from 'image-size';
import OpenAI, { toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { key, pngBase64, served, servedWays } from './served.ts';

const prompt = 'a paper boat on a calm sea at dawn';

const sizeOf = (base64: string | undefined) => {
  const { type, width, height } = imageSize(Buffer.from(base64 ?? '', 'base64'));
  return `${type} ${width}x${height}`;
};

describe.each(servedWays)('images by the openai SDK at %s', (way) => {
  const at = served(way);
  const images = () => new OpenAI({ apiKey: key, baseURL: `${at.baseUrl}/v1`, maxRetries: 0 }).images;
  const png = async (name: string) =>
    toFile(Buffer.from(await pngBase64(), 'base64'), name, { type: 'image/png' });

  it('are generated', async () => {
    const reply = await images().generate({
      model: 'img-2',
      prompt,
      size: '1536x1024',
      quality: 'low',
      output_format: 'webp',
      output_compression: 80,
      n: 2,
    });
    expect(reply.data?.map(({ b64_json }) => sizeOf(b64_json))).toEqual(['webp 1536x1024', 'webp 1536x1024']);
    expect(reply).toMatchObject({
      background: 'opaque',
      output_format: 'webp',
      quality: 'low',
      size: '1536x1024',
    });
    expect(reply.usage?.total_tokens).toBe(
      (reply.usage?.input_tokens ?? 0) + (reply.usage?.output_tokens ?? 0),
    );
  });

  it('are generated as jpeg', async () => {
    const reply = await images().generate({ model: 'img-2', prompt, output_format: 'jpeg' });
    expect(sizeOf(reply.data?.[0]?.b64_json)).toBe('jpg 1024x1024');
  });

  it('come as an address from legacy models', async () => {
    const reply = await images().generate({
      model: 'legacy-image-3',
      prompt,
      style: 'natural',
      quality: 'hd',
      response_format: 'url',
    });
    const [image] = reply.data ?? [];
    expect(image?.revised_prompt).toContain(prompt);
    const file = await fetch(image?.url ?? '');
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(sizeOf(Buffer.from(await file.arrayBuffer()).toString('base64'))).toBe('png 1024x1024');
  });

  it('are edited with a mask', async () => {
    const reply = await images().edit({
      model: 'img-2.5-flare',
      prompt: 'make it night',
      image: [await png('one.png'), await png('two.png')],
      mask: await png('mask.png'),
      background: 'transparent',
      input_fidelity: 'high',
      n: 1,
      size: '1024x1024',
    });
    expect(sizeOf(reply.data?.[0]?.b64_json)).toBe('png 1024x1024');
    expect(reply.background).toBe('transparent');
    expect(reply.usage?.input_tokens_details.image_tokens).toBeGreaterThan(0);
  });

  it('are streamed', async () => {
    const stream = await images().generate({ model: 'img-2', prompt, stream: true, partial_images: 2 });
    const seen: string[] = [];
    for await (const event of stream) {
      const index = event.type === 'image_generation.partial_image' ? event.partial_image_index : 'final';
      seen.push(`${event.type} ${index} ${sizeOf(event.b64_json)}`);
      if (event.type === 'image_generation.completed') expect(event.usage.total_tokens).toBeGreaterThan(0);
    }
    expect(seen).toEqual([
      'image_generation.partial_image 0 png 1024x1024',
      'image_generation.partial_image 1 png 1024x1024',
      'image_generation.completed final png 1024x1024',
    ]);
  });

  it('are streamed while they are edited', async () => {
    const stream = await images().edit({
      model: 'img-2',
      prompt: 'make it night',
      image: [await png('one.png')],
      stream: true,
      partial_images: 1,
    });
    const seen: string[] = [];
    for await (const event of stream) seen.push(`${event.type} ${sizeOf(event.b64_json)}`);
    expect(seen).toEqual(['image_edit.partial_image png 1536x1024', 'image_edit.completed png 1536x1024']);
  });

  it('are refused in its own classes', async () => {
    await expect(images().generate({ model: 'img-2', prompt, size: '1000x1000' })).rejects.toThrow(
      OpenAI.BadRequestError,
    );
    await expect(images().generate({ model: 'img-2', prompt, response_format: 'url' })).rejects.toThrow(
      /response_format/,
    );
  });
});
