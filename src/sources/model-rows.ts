// The document's literal words about each row of a model sheet; ` … ` separates words from different places.
import { AlphaCreateBody } from '../gateway/alpha/create.ts';
import { BetaTextBody } from '../gateway/beta/create.ts';
import { fieldsOf, saysOf } from '../gateway/body.ts';
import { GammaCreateBody } from '../gateway/gamma/create.ts';
import { ImageGenerateBody } from '../gateway/image/create.ts';
import { sizeSentence } from '../gateway/image/models.ts';

type Sources = Readonly<Record<string, string | undefined>>;

const saidOf = (body: Parameters<typeof fieldsOf>[0]): Sources =>
  Object.fromEntries(fieldsOf(body).flatMap(({ facts }) => (facts.says ? [[facts.row, facts.says]] : [])));

const alpha: Sources = {
  ...saidOf(AlphaCreateBody),
  formats: 'settable only on 2.5: mp4 or mov; 2.0 output is always mp4',
  references: 'up to 9 / 3 / 3 (15 total) … up to 30 / 10 / 10 (50 total)',
  'image file': 'aspect ratio 0.4-2.5; 300-6000 px; under 30 MB each',
  'video file':
    'mp4, mov; 480p/720p; 24-60 FPS; ratio 0.4-2.5; up to 200 MB; ordinary references 2-30 s, editing references 4-30 s',
  'audio file': 'wav, mp3; 2-30 s; under 15 MB each',
  'reference length': 'totals at most 30 s',
  request: 'family A request body 64 MB',
  'enterprise account': 'enterprise accounts, non-4K 600 requests per minute, 10 concurrent tasks',
  'personal account': 'personal accounts, non-4K 180 requests per minute, 3 concurrent tasks',
  'at 4k': 'family A standard 2.0 4K, both account types 15 requests per minute, 1 concurrent task',
  'record is kept': 'task records 7 days',
  'link lives': 'video URLs 24 hours; a video can be downloaded up to 100 times',
};

const beta: Sources = {
  ...saidOf(BetaTextBody),
  prompt: 'max 3,072 characters (2,500 recommended)',
  body: 'Request bodies of the image-to-video endpoints, the omni endpoint and the motion-control endpoint of family B (other than the O1 endpoint): not shown.',
  shots: 'up to six shots … each shot prompt at most 512 characters',
  'link lives': 'Output URLs are removed after 30 days.',
};

const betaO1: Sources = {
  ...beta,
  prompt: 'up to 2,500 characters',
  'first frame alone': 'first-frame-only input without other references supports only 5 or 10',
  'images and elements': 'Image plus element count at most 7 without a reference video, 4 with one.',
  'image file':
    'images JPG/JPEG/PNG, up to 50 MB, both dimensions at least 300 px, aspect ratio 1:2.5 to 2.5:1',
  'video file': 'Videos MP4/MOV, up to 200 MB, 3-10 s, 700-2160 px, 24-60 fps',
};

const gamma: Sources = {
  ...saidOf(GammaCreateBody),
  prompt: 'each text item at most 7,000 characters',
  references:
    'H3-Max supports neither multimodal reference inputs nor 2K … at most 1 first frame, 1 last frame, 9 reference images',
  'image file': 'Images JPG/JPEG/PNG/WEBP/HEIC/HEIF, at most 30 MB each, 256-5760 px, aspect ratio 0.4-2.5',
  'video file':
    'Video MP4/MOV, H.264/H.265 with AAC/MP3 audio, at most 50 MB each, 2-15 s per clip and 15 s total, at most 3 clips, 23.976-60 fps, H3 only',
  'audio file': 'Audio WAV/MP3, at most 15 MB each, 2-15 s per clip and 15 s total, at most 3 clips, H3 only',
  'reference length': '2-15 s per clip and 15 s total',
  request: 'total body at most 64 MB',
  'record is kept': 'Tasks are retained 7 days (UTC)',
  'link lives': 'video URLs are temporary',
};

const image: Sources = {
  ...saidOf(ImageGenerateBody),
  prompt: 'max 32,000 characters for img models; 1,000 for legacy-image-2; 4,000 for legacy-image-3',
  qualities:
    'img models: low/medium/high; xhigh, max only for the 2.5 models and snapshots; hd and standard for legacy-image-3; standard only for legacy-image-2',
  images: saysOf(ImageGenerateBody, 'n'),
  compression: saysOf(ImageGenerateBody, 'output_compression'),
  backgrounds: saysOf(ImageGenerateBody, 'background'),
  streaming: saysOf(ImageGenerateBody, 'partial_images'),
  'images to edit': 'up to 16 for img models',
  'links live': 'URLs for legacy models are valid 60 minutes.',
};

const chat: Sources = {
  'reasoning efforts':
    'For geo models reasoning_effort accepts none, minimal, low, medium, high … low, medium, high map to thinking level; none and minimal return HTTP 400',
  'thinking levels': 'low, medium, high map to thinking level … thinkingLevel MINIMAL returns HTTP 400',
  'thinking off':
    'works on geo-3.5-flash, geo-3.6-flash, geo-3.1-pro-preview (thoughtsTokenCount 0); on geo-3.7-flash it is not reliable',
};

/** The document's sentences for the rows of a model's sheet, by ID or path; the row `command` has none. */
export function sourcesOf(id: string): Sources {
  if (id.startsWith('geo-')) return chat;
  if (id.startsWith('alpha-')) return alpha;
  if (id.startsWith('gamma-')) return gamma;
  if (id.includes('/')) return id.endsWith('o1') ? betaO1 : beta;
  const sizes = sizeSentence(id);
  return { ...image, sizes, 'default size': sizes };
}
