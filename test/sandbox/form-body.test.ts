import { describe, expect, it } from 'vitest';
import { formNote, isFormType, readForm } from '../../src/sandbox/request-body.ts';

async function encoded(form: FormData) {
  const response = new Response(form);
  const type = response.headers.get('content-type') ?? '';
  return { type, bytes: new Uint8Array(await response.arrayBuffer()) };
}

describe('a multipart body', () => {
  it('gives its fields with all their values, and its files in order', async () => {
    const form = new FormData();
    form.append('prompt', 'a fox\r\nin the snow');
    form.append('tag', 'one');
    form.append('tag', 'two');
    form.append('image[]', new File([Uint8Array.of(0, 13, 10, 255)], 'a "b".png', { type: 'image/png' }));
    form.append('image[]', new File([], 'empty.png'));
    form.append('mask', new File(['m'], 'm.png', { type: 'image/png' }));
    const { type, bytes } = await encoded(form);
    const read = await readForm([Buffer.from(bytes)], type);
    expect([...read.fields]).toEqual([
      ['prompt', ['a fox\r\nin the snow']],
      ['tag', ['one', 'two']],
    ]);
    expect(read.files.map(({ field, name, bytes }) => [field, name, [...bytes]])).toEqual([
      ['image[]', 'a "b".png', [0, 13, 10, 255]],
      ['image[]', 'empty.png', []],
      ['mask', 'm.png', [109]],
    ]);
    expect(read.files[0]?.type).toBe('image/png');
    expect(formNote(read)).toMatchObject({ files: [{ sizeBytes: 4 }, { sizeBytes: 0 }, { sizeBytes: 1 }] });
  });

  it.each([
    ['without a boundary', 'multipart/form-data', '--x\r\n'],
    [
      'that breaks off',
      'multipart/form-data; boundary=x',
      '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb',
    ],
    ['that is JSON', 'multipart/form-data; boundary=x', '{"prompt":"a fox"}'],
  ])('%s is refused', async (_, type, body) => {
    await expect(readForm([Buffer.from(body)], type)).rejects.toMatchObject({
      status: 400,
      code: 'InvalidRequest',
    });
  });

  it('is known by its content type', () => {
    expect(['multipart/form-data; boundary=x', 'Multipart/Form-Data'].map(isFormType)).toEqual([true, true]);
    expect(['multipart/mixed', 'application/json', undefined].map(isFormType)).toEqual([false, false, false]);
  });
});
