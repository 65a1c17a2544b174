// The document's facts about thinking in geo chat models ("Chat completions", "Gemini-style generation").

/** Values of `reasoning_effort` for geo models. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

export const thinkingLevels = ['minimal', 'low', 'medium', 'high'] as const;

interface GeoModel {
  readonly efforts: readonly ReasoningEffort[];
  /** Whether a thinking budget of 0 reliably turns thinking off. */
  readonly budgetZero: 'works' | 'unreliable';
  /** Thinking levels that the gateway refuses with HTTP 400. */
  readonly refusedLevels: readonly (typeof thinkingLevels)[number][];
}

const byBudget: GeoModel = { efforts: reasoningEfforts, budgetZero: 'works', refusedLevels: [] };

/** The models whose behaviour the document calls verified; other `geo-` models follow only the general rules. */
export const geoModels: Readonly<Record<string, GeoModel>> = {
  'geo-3.5-flash': byBudget,
  'geo-3.6-flash': byBudget,
  'geo-3.1-pro-preview': byBudget,
  'geo-3.7-flash': {
    efforts: ['low', 'medium', 'high'],
    budgetZero: 'unreliable',
    refusedLevels: ['minimal'],
  },
};

export const isGeoModel = (model: string): boolean => model.startsWith('geo-');

/** The verified facts about a model; undefined if the document does not name it. */
export const geoModel = (model: string): GeoModel | undefined =>
  Object.hasOwn(geoModels, model) ? geoModels[model] : undefined;
