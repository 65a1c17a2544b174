import { describe, expect, test } from 'vitest';
import { isBase64, isImageUrl } from '../../src/gateway/body.ts';
import { bodyOfEditForm, editFormTexts } from '../../src/gateway/image/create.ts';
import { imageFamily } from '../../src/gateway/image/job.ts';
import { readImageEvent, readImages, readImageUsage, readRefusal } from '../../src/gateway/image/reply.ts';

// Literal replies and events of the image endpoints: those that the document allows, those in public forms that the document
// leaves out, and those that it does not allow.

const link = 'https://example.com/i.png?signature=1';

describe('the images of a reply', () => {
  const documented = {
    created: 1795211159,
    background: 'opaque',
    data: [{ b64_json: 'iVBORw0KGgo=' }],
    output_format: 'webp',
    quality: 'high',
    size: '1024x1024',
    usage: {
      input_tokens: 50,
      output_tokens: 1000,
      total_tokens: 1050,
      input_tokens_details: { image_tokens: 40, text_tokens: 10 },
    },
  };

  const native = (part: object) => ({ candidates: [{ content: { parts: [part] } }] });
  const elsewhere: readonly (readonly [string, unknown])[] = [
    ['data that is no list', { data: { url: link } }],
    ['a list of images', { images: [{ url: link }] }],
    ['native, as imageUrl', native({ imageUrl: link })],
    ['native, as a text that is a link', native({ text: ` ${link}\n` })],
    ['native, in Markdown', native({ text: `Here it is: ![a fox](${link})` })],
    ['the message of a chat', { choices: [{ message: { images: [{ image_url: { url: link } }] } }] }],
  ];

  test.each<[string, unknown, readonly object[]]>([
    ['Base64, as documented', documented, [{ index: 0, kind: 'base64' }]],
    [
      'a URL, where b64_json is normally empty',
      { created: 1, data: [{ b64_json: '', url: link, revised_prompt: '' }] },
      [{ index: 0, kind: 'url', url: link }],
    ],
    [
      'several, in their order',
      { data: [{ url: link }, { b64_json: 'AAAA' }] },
      [
        { index: 0, kind: 'url', url: link },
        { index: 1, kind: 'base64' },
      ],
    ],
    ['Base64 that was left out', { data: [{ b64_json: '' }] }, [{ index: 0, kind: 'base64', isEmpty: true }]],
    [
      'native, as Base64',
      {
        candidates: [
          { content: { parts: [{ text: 'here' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } },
        ],
      },
      [{ index: 0, kind: 'base64', mimeType: 'image/png' }],
    ],
    [
      'native, in snake case',
      native({ inline_data: { mime_type: 'image/webp', data: 'AAAA' } }),
      [{ index: 0, kind: 'base64', mimeType: 'image/webp' }],
    ],
    [
      'native, as a file',
      native({ fileData: { mimeType: 'image/png', fileUri: link } }),
      [{ index: 0, kind: 'url', url: link, mimeType: 'image/png' }],
    ],
    ['native, as an image URL', native({ image_url: { url: link } }), [{ index: 0, kind: 'url', url: link }]],
    [
      'native, a thought is no result',
      native({ thought: true, inlineData: { mimeType: 'image/png', data: 'AA' } }),
      [],
    ],
    [
      'the final event of a stream',
      { type: 'image_generation.completed', b64_json: 'AAAA', output_format: 'png' },
      [{ index: 0, kind: 'base64', mimeType: 'image/png' }],
    ],
    ['none', { data: [] }, []],
    [
      'an item of another shape',
      { data: [null, 5, 'x', {}, { url: 5 }, { url: link }] },
      [{ index: 5, kind: 'url', url: link }],
    ],
    [
      'an item that failed keeps its place',
      { data: [{ url: link }, { error: { message: 'blocked' } }, { b64_json: 'AAAA' }] },
      [
        { index: 0, kind: 'url', url: link },
        { index: 2, kind: 'base64' },
      ],
    ],
    ...elsewhere.map(([where, reply]): [string, unknown, readonly object[]] => [
      where,
      reply,
      [{ index: 0, kind: 'url', url: link }],
    ]),
    ['a link among words', native({ text: `see ${link} for more` }), []],
    ['a thought that is a link', native({ thought: true, text: link }), []],
    ['candidates of another shape', { candidates: [null, { content: null }, { content: { parts: 5 } }] }, []],
    ['nothing that is an object', null, []],
    ['a list', [{ url: link }], []],
  ])('%s', (_, reply, images) => {
    expect(readImages(reply)).toEqual(images);
  });

  test.each<[unknown, unknown]>([
    [documented, { tokens: 1050 }],
    [{ usageMetadata: { totalTokenCount: 7 } }, { tokens: 7 }],
    [{ usage: { total_tokens: '7' } }, undefined],
    [{ usage: null }, undefined],
    [{}, undefined],
  ])('usage of %j', (reply, usage) => {
    expect(readImageUsage(reply)).toEqual(usage);
  });

  test.each<[unknown, string | undefined]>([
    [
      { candidates: [{ content: { parts: [{ text: 'I cannot' }, { text: 'draw that.' }] } }] },
      'I cannot draw that.',
    ],
    [{ candidates: [{ finishReason: 'IMAGE_SAFETY' }] }, 'IMAGE_SAFETY'],
    [{ promptFeedback: { blockReason: 'SAFETY' } }, 'SAFETY'],
    [{ data: [] }, undefined],
  ])('what %j says in place of an image', (reply, words) => {
    expect(readRefusal(reply)).toBe(words);
  });

  test('as a job of the ledger: URLs are outputs, by role; Base64 is none', () => {
    const record = {
      data: [{ url: link }, { b64_json: '' }, { url: `${link}3` }],
      usage: { total_tokens: 9 },
    };
    expect(imageFamily.readTask(record, 'gw-1')).toMatchObject({
      id: 'gw-1',
      state: 'succeeded',
      outputs: [
        { role: 'image', type: 'image', url: link },
        { role: 'image-3', type: 'image', url: `${link}3` },
      ],
      usage: { tokens: 9 },
    });
    expect(() => imageFamily.readTask('text', 'gw-1')).toThrow();
  });
});

describe('an event of a stream', () => {
  test.each<[unknown, object]>([
    [
      { type: 'image_generation.partial_image', b64_json: 'AAAA', partial_image_index: 1, size: '1024x1024' },
      { kind: 'partial', index: 1 },
    ],
    [
      { type: 'image_edit.partial_image', b64_json: '', partial_image_index: 0 },
      { kind: 'partial', index: 0 },
    ],
    [
      { type: 'image_edit.partial_image', b64_json: 'AAAA' },
      { kind: 'partial', index: 0 },
    ],
    [
      { partial_image_index: 2, b64_json: 'AAAA' },
      { kind: 'partial', index: 2 },
    ],
    // An index that cannot be a position among images is ignored.
    ...[1.5, -1, 2 ** 60, '1', null].map((index): [unknown, object] => [
      { partial_image_index: index, b64_json: 'AAAA' },
      { kind: 'final' },
    ]),
    [
      { type: 'image_edit.partial_image', partial_image_index: 1.5 },
      { kind: 'partial', index: 0 },
    ],
    [{ type: 'image_generation.partial_failed', error: { message: 'boom' } }, { kind: 'final' }],
    [{ type: 'image.ready', url: 'https://outputs.example/a.png' }, { kind: 'final' }],
    [{ candidates: [] }, { kind: 'final' }],
    [{ type: 'image_generation.completed', b64_json: 'AAAA', usage: { total_tokens: 1 } }, { kind: 'final' }],
    [{ type: 'image_edit.completed', b64_json: '' }, { kind: 'final' }],
    [{ b64_json: 'AAAA' }, { kind: 'final' }],
    [{ created: 1, data: [{ b64_json: 'AAAA' }] }, { kind: 'final' }],
    [
      { type: 'error', error: { message: 'boom', code: 'server_error' } },
      { kind: 'error', error: { message: 'boom', code: 'server_error' } },
    ],
    [{ error: { message: 'boom' } }, { kind: 'error', error: { message: 'boom' } }],
    [
      { type: 'error', message: 'boom' },
      { kind: 'error', error: { message: 'boom' } },
    ],
    [{ type: 'image_generation.queued' }, { kind: 'other' }],
    [{ error: null, type: 'ping' }, { kind: 'other' }],
    ['[DONE]', { kind: 'other' }],
    [null, { kind: 'other' }],
    [[], { kind: 'other' }],
  ])('%j', (event, read) => {
    expect(readImageEvent(event)).toMatchObject(read);
  });

  test('the name of an event counts where its JSON names no type', () => {
    expect(readImageEvent({ b64_json: 'AAAA' }, 'image_edit.completed')).toEqual({
      kind: 'final',
      isLast: true,
    });
    expect(readImageEvent({ b64_json: 'AAAA', type: 'image_edit.ready' }, 'error')).toEqual({
      kind: 'final',
    });
    expect(readImageEvent({ message: 'boom' }, 'error')).toMatchObject({ kind: 'error' });
  });
});

describe('the form of an edit', () => {
  test('its texts stand for the body without its images', () => {
    const body = {
      model: 'img-2',
      prompt: 'two\nlines',
      n: 2,
      stream: true,
      output_compression: 80,
      images: [{ file_id: 'f' }],
      mask: { file_id: 'm' },
      later: { a: 1 },
      left: undefined,
    };
    const texts = editFormTexts(body);
    expect(texts).toEqual([
      ['model', 'img-2'],
      ['prompt', 'two\nlines'],
      ['n', '2'],
      ['stream', 'true'],
      ['output_compression', '80'],
      ['later', '{"a":1}'],
    ]);
    expect(bodyOfEditForm(texts)).toEqual({
      model: 'img-2',
      prompt: 'two\nlines',
      n: 2,
      stream: true,
      output_compression: 80,
      later: '{"a":1}',
    });
  });

  test('a number that is none, and digits of a text field, stay text', () => {
    expect(
      bodyOfEditForm([
        ['n', 'two'],
        ['prompt', '7'],
        ['stream', 'yes'],
      ]),
    ).toEqual({ n: 'two', prompt: '7', stream: 'yes' });
  });
});

describe('Base64', () => {
  test.each(['AAAA', 'AAA=', 'AA==', 'AA', 'AAA', 'ab+/'])('%s is', (text) => {
    expect(isBase64(text)).toBe(true);
  });
  test.each(['', '=', 'A', 'A===', 'AA=A', 'AA==A', 'AA AA', 'AA-_', 'AAAA=', 'AAA==', 'é'])(
    '%j is not',
    (text) => {
      expect(isBase64(text)).toBe(false);
    },
  );

  test('megabytes of it are looked at without a deep pattern', () => {
    const data = `data:image/png;base64,${'A'.repeat(32 * 1024 * 1024)}`;
    expect(isImageUrl(data)).toBe(true);
    expect(isImageUrl(`${data}*`)).toBe(false);
  });

  test.each([
    ['https://example.com/a.png', true],
    ['http://example.com/a.png', true],
    ['https://', false],
    ['https://example.com/a b', false],
    ['ftp://example.com/a', false],
    ['data:text/html;base64,AAAA', false],
    ['data:image/png,AAAA', false],
    ['data:image/svg+xml;base64,AAAA', true],
  ])('%s: %s', (text, is) => {
    expect(isImageUrl(text)).toBe(is);
  });
});
