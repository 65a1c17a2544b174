import * as z from 'zod';
import type { Note } from '../body.ts';
import type { Endpoint } from '../endpoint.ts';
import { isBase64 } from './media.ts';
import { geoModel, thinkingLevels } from './models.ts';

// `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent` ("Gemini-style generation",
// "Gemini-style response"). The model stands in the path. The document shows text parts only; the other parts are
// those of the public API of this style.

type ObjectMaker = typeof z.looseObject | typeof z.strictObject;

/** Exactly one of these makes a part what it is. */
const partKinds = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;

/** The request body, loose (fields of `--set` pass) or strict (the sandbox refuses what the document does not list). */
function geoBody(object: ObjectMaker) {
  const part = object({
    text: z.string().optional(),
    thought: z.boolean().optional(),
    thoughtSignature: z.string().optional(),
    inlineData: object({
      mimeType: z.string().min(1),
      data: z.string().refine(isBase64, { error: 'not Base64' }),
    }).optional(),
    fileData: object({ mimeType: z.string().optional(), fileUri: z.string().min(1) }).optional(),
    functionCall: object({
      id: z.string().optional(),
      name: z.string().min(1),
      args: z.looseObject({}).optional(),
    }).optional(),
    functionResponse: object({
      id: z.string().optional(),
      name: z.string().min(1),
      response: z.looseObject({}),
    }).optional(),
  });
  const parts = z.array(part).min(1, 'a content needs at least one part');
  return object({
    contents: z
      .array(
        object({
          role: z.enum(['user', 'model'], { error: 'a content is of user or model' }).optional(),
          parts,
        }),
      )
      .min(1, 'a conversation has at least one content'),
    systemInstruction: object({ role: z.string().optional(), parts }).optional(),
    generationConfig: object({
      maxOutputTokens: z.int().min(1, 'at least 1 token').optional(),
      temperature: z.number().optional(),
      topP: z.number().optional(),
      topK: z.number().optional(),
      stopSequences: z.array(z.string().min(1)).optional(),
      candidateCount: z.int().min(1, 'at least 1').optional(),
      responseMimeType: z.string().optional(),
      responseSchema: z.looseObject({}).optional(),
      thinkingConfig: object({
        thinkingLevel: z.string().optional(),
        thinkingBudget: z.int().optional(),
        includeThoughts: z.boolean().optional(),
      }).optional(),
    }).optional(),
    tools: z.array(z.looseObject({})).optional(),
    toolConfig: z.looseObject({}).optional(),
    safetySettings: z.array(z.looseObject({})).optional(),
  }).superRefine((body, ctx) => {
    for (const [index, { parts }] of body.contents.entries()) {
      for (const [at, each] of parts.entries()) {
        if (partKinds.filter((kind) => each[kind] !== undefined).length === 1) continue;
        const path = ['contents', index, 'parts', at];
        ctx.addIssue({
          code: 'custom',
          path,
          message: `a part holds exactly one of ${partKinds.join(', ')}`,
        });
      }
    }
  });
}

/** The body of a Gemini-style request, with the rules that do not depend on the model. */
export const GeoBody = geoBody(z.looseObject);
export type GeoBody = z.infer<ReturnType<typeof geoBody>>;

/** As {@link GeoBody}, refusing fields that the document does not list. */
export const GeoStrictBody = geoBody(z.strictObject);

const levelPath = ['generationConfig', 'thinkingConfig', 'thinkingLevel'] as const;

/** The rules that depend on the model, which stands in the path of the request. */
export function* geoBreaches(model: string, body: GeoBody): Generator<Note> {
  const level = body.generationConfig?.thinkingConfig?.thinkingLevel?.toLowerCase();
  if (level === undefined) return;
  const refused: readonly string[] = geoModel(model)?.refusedLevels ?? [];
  if (refused.includes(level)) {
    const taken = thinkingLevels.filter((each) => !refused.includes(each)).map((each) => each.toUpperCase());
    yield { path: levelPath, message: `${model} refuses it with HTTP 400; it takes ${taken.join(', ')}` };
  }
}

/** {@link GeoBody} with the rules of one model. */
export const geoBodyFor = (model: string) =>
  GeoBody.superRefine((body, ctx) => {
    for (const { path, message } of geoBreaches(model, body as GeoBody)) {
      ctx.addIssue({ code: 'custom', path: [...path], message });
    }
  });

/** What is allowed but likely not meant. */
export function geoWarnings(model: string, { generationConfig }: GeoBody): Note[] {
  const budget = generationConfig?.thinkingConfig?.thinkingBudget;
  if (budget !== 0 || geoModel(model)?.budgetZero !== 'unreliable') return [];
  return [
    {
      path: ['generationConfig', 'thinkingConfig', 'thinkingBudget'],
      message: `a thinking budget of 0 is not reliable on ${model}: it may think all the same`,
    },
  ];
}

/** What gw reads of a complete reply; each field is looked at again where it is used. */
const GeoReplyObject = z.looseObject({
  candidates: z.array(z.unknown()).optional(),
  promptFeedback: z.unknown().optional(),
});

/** One reply, an error in its place, or what would be the events of a stream in one list. */
export const GeoReply = z.union([GeoReplyObject, z.array(GeoReplyObject).min(1)]);

const row = {
  method: 'POST',
  credential: 'geo',
  resend: 'chat',
  body: GeoBody,
  reply: GeoReply,
} as const;

export const geoGenerate: Endpoint = {
  ...row,
  name: 'chat.geo',
  path: '/v1beta/models/{model}:generateContent',
};

export const geoStream: Endpoint = {
  ...row,
  name: 'chat.geo.stream',
  path: '/v1beta/models/{model}:streamGenerateContent',
};
