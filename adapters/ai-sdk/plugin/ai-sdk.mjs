/**
 * A plug-in for `parley serve --plugin`: OpenAI's models by way of the AI SDK, as `ai-sdk/gpt-4o-mini` in `llm.model` of
 * agents. Replace `createOpenAI` with the maker of any other of the SDK's providers.
 */
import process from 'node:process';
import { createOpenAI } from '@ai-sdk/openai';
import { AiSdkLlm } from '@parley-voice/ai-sdk';

const apiKey = process.env['OPENAI_API_KEY'] ?? '';
const openai = createOpenAI({ apiKey, baseURL: process.env['OPENAI_BASE_URL'] });

export default {
  name: 'ai-sdk',
  llm: {
    'ai-sdk/*': () =>
      new AiSdkLlm({ model: (id) => openai.chat(id.slice('ai-sdk/'.length)), secrets: apiKey === '' ? [] : [apiKey] }),
  },
};
