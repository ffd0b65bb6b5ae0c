import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { DaemonContext } from '../context.js';
import { jsonBody } from '../http/checked.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import type { KeyScope } from '../../store/keys.js';
import type { ChatPlaces } from '../talk/chat.js';
import { ChatCompletions } from './chat-completions.js';
import { AgentModels } from './models.js';

export interface OpenAiModuleOptions {
  http: HttpModule;
  agents: AgentRegistry;
  log: CallLog;
  chatPlaces: ChatPlaces;
}

/**
 * The agents behind the interface of OpenAI, for clients that were written for it. Its endpoints are not in the OpenAPI
 * document: OpenAI's own describes them. docs/openai-api.md says what differs.
 */
export function openAiModule(context: DaemonContext, options: OpenAiModuleOptions): DaemonModule {
  const { engine, clock, nowUnixMs, admission, faults } = context;
  const { http, agents, log, chatPlaces: places } = options;
  const { app, access } = http;
  const models = new AgentModels(agents);
  const onError = faults.report;
  const chats = new ChatCompletions({ engine, models, log, admission, places, clock, nowUnixMs, onError });
  const needs = (scope: KeyScope) => ({
    onRequest: (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
      access.privateKey(request, scope);
      done();
    },
  });
  return {
    name: 'openai',
    routes: () => {
      app.get('/v1/models', needs('read'), () => ({ object: 'list', data: models.list() }));
      app.get('/v1/models/:model', needs('read'), ({ params }) => models.get((params as { model: string }).model));
      app.post('/v1/chat/completions', needs('calls'), (request, reply) => chats.answer(jsonBody(request), reply));
    },
  };
}
