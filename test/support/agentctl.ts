import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Service } from './service.ts';

export interface CommandEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

const command = resolve(import.meta.dirname, '../../bin/agentctl.ts');

/**
 * Runs `agentctl … --json` in its own process, against a running service.
 * @param knowledgeBases ids of the knowledge bases that agents may use, as if the service's stage listed them
 */
export function agentctlOf(service: Service, knowledgeBases: string[] = []) {
  const data = join(service.dataDir, `connection-${knowledgeBases.length}`);
  const { outputs, endpoints } = service.run;
  const written = mkdir(data, { recursive: true }).then(() =>
    writeFile(
      join(data, 'connection.json'),
      JSON.stringify({
        pid: process.pid,
        access_key_id: operatorCredentials.accessKeyId,
        secret_access_key: operatorCredentials.secretAccessKey,
        data_table: outputs.DataTableName,
        dynamodb_endpoint: endpoints.dynamodb,
        content_bucket: outputs.ContentBucketName,
        s3_endpoint: endpoints.s3,
        batch_workflow: outputs.BatchWorkflowArn,
        sfn_endpoint: endpoints.sfn,
        bedrock_models: [],
        bedrock_knowledge_bases: knowledgeBases,
      }),
    ),
  );
  const run = async (...args: string[]): Promise<CommandEnd> => {
    await written;
    const child = spawn(process.execPath, [command, ...args, '--data', data, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const code = await new Promise<number | null>((ended) => child.once('close', ended));
    return { code, stdout, stderr };
  };
  return {
    run,
    /** @throws Error with its stderr if the exit code is not 0 */
    async json<ApiResponse>(...args: string[]): Promise<ApiResponse> {
      const { code, stdout, stderr } = await run(...args);
      if (code !== 0) throw new Error(`agentctl ${args.join(' ')}: ${stderr}`);
      return JSON.parse(stdout) as ApiResponse;
    },
  };
}
