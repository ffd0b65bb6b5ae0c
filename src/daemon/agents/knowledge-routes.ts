import * as z from 'zod';
import { InvalidConfigError } from '../../schema/issues.js';
import { ParleyError } from '../../base/errors.js';
import type { KnowledgeBase } from '../../store/knowledge.js';
import type { KnowledgeFile } from '../../tools/knowledge/knowledge.js';
import type { AgentRegistry } from './agents.js';
import { authorOf } from './requested-agent.js';
import type { Api } from '../http/api.js';
import { faultAt } from '../http/replies.js';
import { success } from '../http/endpoint.js';
import type { Uploads } from '../http/uploads.js';

export interface KnowledgeRoutesOptions {
  agents: AgentRegistry;
  knowledge: KnowledgeBase;
  uploads: Uploads;
}

const idSchema = z.string().min(1).max(200);
const uploadSchema = z
  .strictObject({ object_key: z.string(), name: z.string(), file_type: z.string().nullable(), size: z.int() })
  .meta({ id: 'Upload', description: 'An uploaded file that is not in the knowledge base yet.' });
const createSchema = z
  .strictObject({
    object_key: z.string().min(1).max(200).describe('From the answer to the upload.'),
    name: z.string().min(1).max(300),
    description: z.string().max(2_000).nullish(),
    file_type: z.string().max(200).nullish().describe('A MIME type. Default: from the extension of the name.'),
    size: z.int().min(0).nullish().describe('Bytes. If given, it must be right.'),
  })
  .meta({ id: 'KnowledgeFileCreate' });
const fileSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    file_type: z.string(),
    size: z.int().describe('Bytes'),
    create_at: z.int().describe('Unix seconds'),
  })
  .meta({ id: 'KnowledgeFile', description: 'A file that agents can consult.' });
const deleteSchema = z.strictObject({ id: idSchema });
const fileIds = z.array(idSchema).max(1_000);
const agentFilesSchema = z
  .strictObject({
    agent_id: idSchema,
    files: fileIds.nullish().describe("Replaces the files of the agent's configuration."),
    messages: z
      .array(z.string().max(2_000))
      .max(128)
      .nullish()
      .describe('With `files`: what the agent says while it consults them.'),
    file_ids: fileIds.nullish().describe('Files beside those of the configuration. Replaces earlier `file_ids`.'),
  })
  .refine(({ files, file_ids: ids }) => (files == null) !== (ids == null), {
    path: ['files'],
    error: 'Field required: files, or file_ids',
    params: { type: 'missing' },
  })
  .refine(({ files, messages }) => messages == null || files != null, {
    path: ['messages'],
    error: 'Input should be null without files',
  });

const EXAMPLE_UPLOAD: z.output<typeof uploadSchema> = {
  object_key: 'cbc159c7-2c6f-43a6-b565-4c5620a86ea9.txt',
  name: 'menu.txt',
  file_type: 'text/plain',
  size: 2_140,
};
const EXAMPLE_FILE: z.output<typeof fileSchema> = {
  id: '20808da7-3658-4a09-87d7-faf78f30a4ba',
  name: 'menu.txt',
  description: 'Dishes and their prices',
  file_type: 'text/plain',
  size: 2_140,
  create_at: 1_795_448_091,
};

const tag = 'knowledge';

/** Uploads, adds, lists and deletes knowledge files, and gives them to agents. */
export function knowledgeRoutes(api: Api, options: KnowledgeRoutesOptions): void {
  uploadRoutes(api, options);
  fileRoutes(api, options);
  agentFileRoutes(api, options);
}

/** Uploads files and adds them to the knowledge base. */
function uploadRoutes(api: Api, { knowledge, uploads }: KnowledgeRoutesOptions): void {
  api.add({
    id: 'uploadFile',
    method: 'POST',
    path: '/knowledge/upload',
    tag,
    summary: 'Upload a file, as the field `file` of a form',
    upload: 'multipart/form-data',
    answer: uploadSchema,
    errors: ['KNOWLEDGE_FILE_TOO_LARGE'],
    examples: () => ({ answer: EXAMPLE_UPLOAD }),
    handle: async ({ request }) => {
      const { objectKey, name, fileType, size } = await uploads.receive(request);
      return { object_key: objectKey, name, file_type: fileType, size };
    },
  });

  api.add({
    id: 'createFile',
    method: 'POST',
    path: '/knowledge/create_file',
    tag,
    summary: 'Add an upload to the knowledge base',
    body: createSchema,
    answer: fileSchema,
    errors: ['NOT_FOUND', 'KNOWLEDGE_FULL'],
    examples: () => ({
      body: {
        object_key: EXAMPLE_UPLOAD.object_key,
        name: EXAMPLE_FILE.name,
        description: EXAMPLE_FILE.description,
        file_type: EXAMPLE_FILE.file_type,
      },
      answer: EXAMPLE_FILE,
    }),
    handle: async ({ body }) => {
      const source = await uploads.path(body.object_key);
      // The upload's extension gives the type if the name has none.
      const fileType = body.file_type ?? (/\.[a-z0-9]+$/i.test(body.name) ? null : (source.split('.').pop() ?? null));
      const { name, description = null } = body;
      const file = await knowledge.add({ name, description, fileType, source }).catch((error: unknown) => {
        throw faultAt(['body', 'object_key'], error);
      });
      if (body.size != null && body.size !== file.size) {
        await knowledge.remove(file.id);
        const msg = `The upload has ${String(file.size)} bytes`;
        throw new InvalidConfigError([{ loc: ['body', 'size'], msg, type: 'value_error' }]);
      }
      await uploads.drop(body.object_key);
      return replyOf(file);
    },
  });
}

/** Files of the knowledge base. */
function fileRoutes(api: Api, { agents, knowledge }: KnowledgeRoutesOptions): void {
  api.add({
    id: 'deleteFile',
    method: 'POST',
    path: '/knowledge/delete_file',
    tag,
    summary: 'Delete a file that no agent lists',
    body: deleteSchema,
    answer: success,
    errors: ['NOT_FOUND', 'KNOWLEDGE_FILE_IN_USE'],
    examples: () => ({ body: { id: EXAMPLE_FILE.id } }),
    handle: async ({ body: { id } }) => {
      const user = (await agents.reachable()).find(({ config }) => config.knowledge_base?.files?.includes(id) === true);
      if (user !== undefined) throw new ParleyError('KNOWLEDGE_FILE_IN_USE', { id, agent: user.id });
      if (!(await knowledge.remove(id))) throw new ParleyError('NOT_FOUND', { what: 'knowledge file', id });
      return { success: true };
    },
  });

  api.add({
    id: 'listFiles',
    method: 'GET',
    path: '/knowledge/list_files',
    tag,
    summary: 'All files',
    answer: z.array(fileSchema),
    examples: () => ({ answer: [EXAMPLE_FILE] }),
    handle: async () => (await knowledge.list()).map(replyOf),
  });
}

/** Files of an agent. */
function agentFileRoutes(api: Api, { agents, knowledge }: KnowledgeRoutesOptions): void {
  api.add({
    id: 'getAgentFiles',
    method: 'GET',
    path: '/knowledge/agent_files',
    tag,
    summary: 'Files of an agent beside those of its configuration',
    description: 'Those that `file_ids` of `POST /knowledge/set_agent_files` set.',
    query: { agent_id: idSchema },
    answer: z.strictObject({ file_ids: z.array(z.string()) }).meta({ id: 'AgentFileIds' }),
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: { file_ids: [EXAMPLE_FILE.id] } }),
    handle: async ({ query: { agent_id: agentId } }) => {
      agents.stored(agentId);
      return { file_ids: await knowledge.filesOf(agentId) };
    },
  });

  api.add({
    id: 'setAgentFiles',
    method: 'POST',
    path: '/knowledge/set_agent_files',
    tag,
    summary: 'Give files to an agent',
    description: 'As `knowledge_base` of its configuration (`files`), or in addition to it (`file_ids`).',
    body: agentFilesSchema,
    answer: success,
    errors: ['NOT_FOUND'],
    examples: () => ({
      body: { agent_id: 'the-crooked-fork', files: [EXAMPLE_FILE.id], messages: ['Let me look at the menu.'] },
    }),
    handle: async ({ body: { agent_id: agentId, files, messages, file_ids: given }, key }) => {
      const { config } = await agents.working(agentId);
      if (files == null) await knowledge.setAgentFiles(agentId, given ?? []);
      else {
        const unknown = await firstUnknown(knowledge, files);
        if (unknown !== undefined) throw new ParleyError('NOT_FOUND', { what: 'knowledge file', id: unknown });
        const { knowledge_base: before } = config;
        const knowledge_base = { ...before, files, messages: messages ?? before?.messages };
        await agents.change(agentId, { config: { ...config, knowledge_base } }, authorOf(key));
      }
      return { success: true };
    },
  });
}

async function firstUnknown(knowledge: KnowledgeBase, ids: readonly string[]): Promise<string | undefined> {
  const known = new Set(await knowledge.known(ids));
  return ids.find((id) => !known.has(id));
}

/** The JSON of the API. */
function replyOf({ id, name, description, fileType, size, createdAt }: KnowledgeFile): z.output<typeof fileSchema> {
  return { id, name, description, file_type: fileType, size, create_at: createdAt };
}
