import { type Rule, valueAt } from '../body.ts';
import { fieldsOf } from '../json-value.ts';
import { geoModel, isGeoModel, thinkingLevels } from './models.ts';

/** Two rules for the thinking level at path `at` of a body: one for levels of geo models, one for other models. */
export const thinkingRules = <B>(
  surface: string,
  at: readonly string[],
  modelOf: (body: B) => string,
): readonly [Rule<B>, Rule<B>] => [
  {
    name: `${surface}.level-by-model`,
    verdict: 'refuse',
    sentence: 'thinkingLevel MINIMAL returns HTTP 400',
    *check(body) {
      const [model, level] = [modelOf(body), String(valueAt(body, at))];
      const refused: readonly string[] = geoModel(model)?.refusedLevels ?? [];
      if (!refused.includes(level.toLowerCase())) return;
      const taken = thinkingLevels.filter((each) => !refused.includes(each)).join(', ');
      const message = `refuses it with HTTP 400; it takes ${surface === 'geo' ? taken.toUpperCase() : taken}`;
      yield { path: at, message: `${model} ${message}` };
    },
  },
  {
    name: `${surface}.thinking-config-of-others`,
    verdict: 'warn',
    sentence: 'Thinking configuration sent to an unsupported model returns an error.',
    *check(body) {
      const [model, path] = [modelOf(body), at.slice(0, -1)];
      const [field] = isGeoModel(model) ? [] : Object.keys(fieldsOf(valueAt(body, path)));
      const message = `the document shows a thinking configuration for geo models, not for ${model}`;
      if (field !== undefined) yield { path: [...path, field], message };
    },
  },
];
