import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { InvalidConfigError, parseWith } from '../../config/issues.js';
import { ParleyError } from '../../errors.js';
import type { KnowledgeBase } from '../../store/knowledge.js';
import type { KnowledgeFile } from '../../tools/knowledge/knowledge.js';
import type { Access } from '../access.js';
import type { AgentRegistry } from '../agents.js';
import type { Uploads } from '../uploads.js';

export interface KnowledgeRoutesOptions {
  access: Access;
  agents: AgentRegistry;
  knowledge: KnowledgeBase;
  uploads: Uploads;
}

const idSchema = z.string().min(1).max(200);
const createSchema = z.strictObject({
  object_key: z.string().min(1).max(200),
  name: z.string().min(1).max(300),
  description: z.string().max(2_000).nullish(),
  file_type: z.string().max(200).nullish(),
  size: z.int().min(0).nullish(),
});
const deleteSchema = z.strictObject({ id: idSchema });
const agentFilesSchema = z.strictObject({ agent_id: idSchema, file_ids: z.array(idSchema).max(1_000) });

/** Files that agents can consult: sent, read, listed, deleted, and given to agents. */
export function knowledgeRoutes(app: FastifyInstance, options: KnowledgeRoutesOptions): void {
  const { access, agents, knowledge, uploads } = options;
  const guarded = {
    onRequest: (request: FastifyRequest, _reply: unknown, done: () => void) => {
      access.privateKey(request.headers.authorization);
      done();
    },
  };

  // The form's body is taken as it comes: a file is larger than any JSON may be.
  void app.register(async (forms) => {
    forms.addContentTypeParser('multipart/form-data', (_request, payload, done) => done(null, payload));
    forms.post('/knowledge/upload', {
      ...guarded,
      handler: async (request) => {
        const { objectKey, name, fileType, size } = await uploads.receive(request);
        return { object_key: objectKey, name, file_type: fileType, size };
      },
    });
  });

  app.post('/knowledge/create_file', {
    ...guarded,
    handler: async (request) => {
      const body = parseWith(createSchema, request.body, ['body']);
      const source = await uploads.path(body.object_key);
      // A name without an ending says nothing of the kind of file; the upload's may.
      const fileType = body.file_type ?? (/\.[a-z0-9]+$/i.test(body.name) ? null : (source.split('.').pop() ?? null));
      const { name, description = null } = body;
      const file = await knowledge.add({ name, description, fileType, source });
      if (body.size != null && body.size !== file.size) {
        await knowledge.remove(file.id);
        const msg = `The upload has ${String(file.size)} bytes`;
        throw new InvalidConfigError([{ loc: ['body', 'size'], msg, type: 'value_error' }]);
      }
      await uploads.drop(body.object_key);
      return reply(file);
    },
  });

  app.post('/knowledge/delete_file', {
    ...guarded,
    handler: async (request) => {
      const { id } = parseWith(deleteSchema, request.body, ['body']);
      const user = agents.list().find(({ config }) => config.knowledge_base?.files?.includes(id) === true);
      if (user !== undefined) throw new ParleyError('KNOWLEDGE_FILE_IN_USE', { id, agent: user.id });
      if (!(await knowledge.remove(id))) throw new ParleyError('NOT_FOUND', { what: 'knowledge file', id });
      return { success: true };
    },
  });

  app.get('/knowledge/list_files', {
    ...guarded,
    handler: async () => (await knowledge.list()).map(reply),
  });

  app.post('/knowledge/set_agent_files', {
    ...guarded,
    handler: async (request) => {
      const { agent_id: agentId, file_ids: fileIds } = parseWith(agentFilesSchema, request.body, ['body']);
      agents.get(agentId);
      await knowledge.setAgentFiles(agentId, fileIds);
      return { success: true };
    },
  });
}

/** As the interface words it. */
function reply({ id, name, description, fileType, size, createdAt }: KnowledgeFile): Record<string, unknown> {
  return { id, name, description, file_type: fileType, size, create_at: createdAt };
}
