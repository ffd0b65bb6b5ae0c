import * as z from 'zod';
import type { Api } from '../api/api.js';
import { openApiDocument } from '../api/openapi.js';

/** `/openapi.json`: what the daemon's endpoints take and answer, for programs. @param server what clients reach the daemon by */
export function openApiRoutes(api: Api, server: string): void {
  // Made when it is first asked for: most daemons are never asked.
  let document: Record<string, unknown> | null = null;
  api.add({
    ...{
      id: 'getOpenApi',
      method: 'GET',
      path: '/openapi.json',
      tag: 'operation',
      gate: 'open',
      summary: 'This document',
    },
    answer: z.record(z.string(), z.unknown()),
    handle: () => (document ??= openApiDocument(api.endpoints, server)),
  });
}
