import { type IMetric, LogQueryVisualizationType, LogQueryWidget } from 'aws-cdk-lib/aws-cloudwatch';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { remoteToolTypes } from '#contract/agent.ts';
import { formula, sumOf } from './alarms.ts';
import { acknowledgeRegions, bedrockStatements } from './bedrock-models.ts';
import { graph } from './dashboard.ts';
import { replyLimits } from './limits.ts';
import {
  allOf,
  allow,
  gets,
  type Need,
  nothing,
  readsSecrets,
  usesKey,
  type VariableName,
  variable,
} from './needs.ts';
import type { Platform } from './platform.ts';
import { pinLogicalId, removalPolicyOf } from './retention.ts';
import { everyServiceMetric, serviceMetric } from './service-metric.ts';
import type { Settings } from './settings.ts';

export class Agents extends Construct {
  readonly reply: Need;
  readonly replyLimits: Need;

  constructor(scope: Construct, id: string, platform: Platform) {
    super(scope, id);
    const { settings } = platform;
    const { bedrockKnowledgeBases, bedrockModels, toolFunctions } = settings;
    const stack = Stack.of(this);
    const { partition, region, account } = stack;
    const openAiApiKey = this.createProviderKey(
      'OpenAiApiKey',
      'The key for the address that speaks OpenAI chat completions',
      settings,
    );
    this.replyLimits = allOf(
      variable('streamTimeoutSeconds', settings.streamTimeoutSeconds),
      ...Object.entries(replyLimits).map(([name, limit]) => variable(name as VariableName, limit)),
    );
    this.reply = allOf(
      (grantee) => {
        for (const statement of bedrockStatements(this, bedrockModels)) grantee.addToRolePolicy(statement);
      },
      ...bedrockKnowledgeBases.map((id) =>
        allow(['bedrock:Retrieve'], `arn:${partition}:bedrock:${region}:${account}:knowledge-base/${id}`),
      ),
      toolFunctions.length > 0 ? allow(['lambda:InvokeFunction'], ...toolFunctions) : nothing,
      readsSecrets('openAiApiKeySecret', openAiApiKey),
      variable('openAiBaseUrl', settings.openAiBaseUrl),
      this.callsEndpoints(settings),
      this.readsTheWeb(settings),
      this.callsTools(settings),
      this.replyLimits,
    );
    acknowledgeRegions(stack, bedrockModels);
    const tester = platform.task(
      'test-agent',
      {
        description: 'Tests an agent for an operator',
        // A reply may take 300 s.
        timeoutSeconds: 330,
      },
      platform.data(gets, { UpdateItem: ['rateBuckets', 'usage'] }),
      platform.content('GetObject', 'ListBucket'),
      this.reply,
      platform.usage,
      platform.stageLimits,
    );
    new CfnOutput(stack, 'TestAgentFunctionArn', { value: tester.alias.functionArn });
    new CfnOutput(stack, 'OpenAiApiKeySecretArn', { value: openAiApiKey.secretArn });
    new CfnOutput(stack, 'BedrockKnowledgeBases', { value: JSON.stringify(bedrockKnowledgeBases) });
    new CfnOutput(stack, 'BedrockModels', { value: JSON.stringify(bedrockModels) });
    if (toolFunctions.length > 0)
      new CfnOutput(stack, 'ToolFunctions', { value: JSON.stringify(toolFunctions) });
    this.watchTools(platform);
  }

  private watchTools({ alarms }: Platform): void {
    const ofTypes = (of: string, metricOf: (tool: string) => IMetric) =>
      sumOf(Object.fromEntries(remoteToolTypes.map((type, index) => [`${of}${index}`, metricOf(type)])));
    const failures = ofTypes('failed', (tool) => serviceMetric(this, 'toolFailures', { tool }));
    const uses = ofTypes('used', (tool) =>
      serviceMetric(this, 'toolTime', { tool }, { statistic: 'SampleCount' }),
    );
    alarms.add('RemoteToolFailures', {
      summary: 'Half of the uses of tools of other systems fail, at least 20 in five minutes.',
      // Fewer failures may be of one system, which is the matter of those who run it.
      metric: formula('IF(failures < 20, 0, 100 * failures / uses)', { failures, uses }),
      threshold: 50,
      periods: [3, 5],
    });
  }

  graphs = (replyLogs: readonly ILogGroup[]) => [
    graph('Tokens by model', {
      left: [
        everyServiceMetric(this, 'promptTokens', 'model', { label: 'prompt' }),
        everyServiceMetric(this, 'cachedTokens', 'model', { label: 'cached prompt' }),
      ],
      right: [everyServiceMetric(this, 'completionTokens', 'model', { label: 'completion' })],
    }),
    graph('Failures of models', {
      left: [everyServiceMetric(this, 'modelFailures', 'model', { label: 'ended a reply' })],
      right: [everyServiceMetric(this, 'modelRetries', 'model', { label: 'retried' })],
    }),
    graph('Tools of other systems', {
      left: [everyServiceMetric(this, 'toolFailures', 'failure', { label: 'failed' })],
      right: [everyServiceMetric(this, 'toolTime', 'tool', { label: 'p95, ms', statistic: 'p95' })],
    }),
    new LogQueryWidget({
      title: 'Tokens by workspace',
      width: 12,
      view: LogQueryVisualizationType.TABLE,
      logGroupNames: replyLogs.map(({ logGroupName }) => logGroupName),
      queryLines: [
        'filter ispresent(PromptTokens)',
        'stats sum(PromptTokens) as prompt, sum(CompletionTokens) as completion, sum(ModelCalls) as calls by workspace_id',
        'sort prompt desc',
        'limit 20',
      ],
    }),
  ];

  private callsEndpoints(settings: Settings): Need {
    const endpoints = Object.entries(settings.openAiEndpoints).map(([name, { url }]) => {
      const key = this.createProviderKey(`OpenAiApiKey${name}`, `The key for openai@${name}`, settings);
      return [name, { url, secret: key.secretArn }] as const;
    });
    if (endpoints.length === 0) return nothing;
    const json = JSON.stringify(Object.fromEntries(endpoints));
    new CfnOutput(Stack.of(this), 'OpenAiEndpoints', { value: json });
    return allOf(
      allow(['secretsmanager:GetSecretValue'], ...endpoints.map(([, { secret }]) => secret)),
      variable('openAiEndpoints', json),
    );
  }

  private readsTheWeb(settings: Settings): Need {
    const { outboundAllow, webSearch } = settings;
    const outbound = outboundAllow.length > 0 ? variable('outboundAllow', outboundAllow.join(',')) : nothing;
    if (webSearch === undefined) return outbound;
    const search = allOf(
      outbound,
      variable('webSearchProvider', webSearch.provider),
      variable('webSearchUrl', webSearch.url),
    );
    if (webSearch.provider !== 'brave') return search;
    const key = this.createProviderKey('BraveApiKey', 'The key for Brave Search', settings);
    new CfnOutput(Stack.of(this), 'BraveApiKeySecretArn', { value: key.secretArn });
    return allOf(search, readsSecrets('webSearchApiKeySecret', key));
  }

  private callsTools(settings: Settings): Need {
    const key = new Key(this, 'ToolSecretKey', {
      description: 'Encrypts the secrets of tools',
      enableKeyRotation: true,
      // Without the key all secrets of tools are lost.
      removalPolicy: removalPolicyOf(settings),
      pendingWindow: Duration.days(30),
    });
    pinLogicalId(key, 'ToolSecretKey');
    const toolAllow = settings.toolAllow.join(',');
    new CfnOutput(Stack.of(this), 'ToolSecretKeyArn', { value: key.keyArn });
    if (toolAllow !== '') new CfnOutput(Stack.of(this), 'ToolAllow', { value: toolAllow });
    return allOf(
      usesKey('kms:Decrypt', key, 'toolSecretKey', ['secret', 'hosts']),
      toolAllow === '' ? nothing : variable('toolAllow', toolAllow),
    );
  }

  /** The first value of the secret is random; an operator replaces it with the key. */
  private createProviderKey(id: string, description: string, settings: Settings): Secret {
    const secret = new Secret(this, id, { description, removalPolicy: removalPolicyOf(settings) });
    pinLogicalId(secret, id);
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'The provider issues the key, so only an operator can replace it.',
    });
    return secret;
  }
}
