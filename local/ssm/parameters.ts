import { openStoredValues, type StoredValues } from '../data/stored-values.ts';
import type { RunContext } from '../run-context.ts';
import type { ResourceKind, TemplateResource } from '../template/resource-kind.ts';
import { AwsJsonError, type AwsJsonOperation, serveAwsJson } from '../wire/serve-aws-json.ts';

interface Parameter {
  readonly type: string;
  readonly value: string;
  readonly version: number;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
  /** The template's value when it last changed. */
  readonly fromTemplate?: string;
}

interface ParameterProperties {
  readonly Type: string;
  readonly Value: string;
}

// AWS's limit for a parameter of the standard tier.
const MAX_VALUE_BYTES = 4096;

/** Parameters of Systems Manager. A value that was put stays until the template's value changes. */
export const parameters: ResourceKind = {
  types: ['AWS::SSM::Parameter'],

  async open(resources, context) {
    const stored = await openStoredValues(context.options.dataDir, 'parameters');
    const prefix = `arn:aws:ssm:${context.region}:${context.accountId}:parameter/`;
    const server = await serveAwsJson(parameterOperations(stored, context), {
      rejectionOf: context.access.rejectionOf,
      rules: context.access.rules,
      needed: (operation, { Name, Names }) =>
        [(Names as unknown[] | undefined) ?? Name].flat().map((name) => ({
          action: `ssm:${operation}`,
          resource: String(name).startsWith(prefix) ? String(name) : prefix + String(name).replace(/^\//, ''),
        })),
    });
    context.endpoints.ssm = server.endpoint;

    const nameOf = ({ logicalId, properties }: TemplateResource): string =>
      String(context.resolve(properties.Name, logicalId) ?? context.nameOf(logicalId));
    const propertiesOf = ({ logicalId, properties }: TemplateResource) =>
      context.resolve(properties, logicalId) as ParameterProperties;
    return {
      ref: nameOf,
      attribute: (resource, name) =>
        name === 'Type' || name === 'Value' ? propertiesOf(resource)[name] : undefined,
      environmentFor: () => ({ AWS_ENDPOINT_URL_SSM: server.endpoint }),
      async start() {
        for (const resource of resources) {
          const { Type, Value } = propertiesOf(resource);
          const known = find(stored, nameOf(resource));
          if (known?.fromTemplate === Value) continue;
          await put(stored, nameOf(resource), { type: Type, value: Value, fromTemplate: Value });
        }
      },
      close: server.close,
    };
  },
};

function find(stored: StoredValues, name: string): Parameter | undefined {
  const text = stored.get(name);
  return text === undefined ? undefined : (JSON.parse(text) as Parameter);
}

async function put(
  stored: StoredValues,
  name: string,
  change: Pick<Parameter, 'type' | 'value' | 'fromTemplate'>,
): Promise<number> {
  const version = (find(stored, name)?.version ?? 0) + 1;
  await stored.put(name, JSON.stringify({ ...change, version, modifiedAt: Date.now() }));
  return version;
}

function parameterOperations(
  stored: StoredValues,
  { region, accountId }: Pick<RunContext, 'region' | 'accountId'>,
): Record<string, AwsJsonOperation> {
  const prefix = `arn:aws:ssm:${region}:${accountId}:parameter`;
  const nameOf = (reference: unknown): string => {
    const text = String(reference);
    if (!text.startsWith(`${prefix}/`)) return text;
    const path = text.slice(prefix.length);
    return stored.get(path) === undefined ? path.slice(1) : path;
  };
  const read = (reference: unknown) => {
    const name = nameOf(reference);
    const parameter = find(stored, name);
    return (
      parameter && {
        Name: name,
        Type: parameter.type,
        Value: parameter.value,
        Version: parameter.version,
        LastModifiedDate: parameter.modifiedAt / 1000,
        ARN: `${prefix}${name.startsWith('/') ? '' : '/'}${name}`,
        DataType: 'text',
      }
    );
  };
  return {
    GetParameter({ Name }) {
      const found = read(Name);
      if (found) return { Parameter: found };
      throw new AwsJsonError('ParameterNotFound', `Parameter ${Name} not found.`);
    },

    GetParameters({ Names }) {
      const names = Names as string[];
      return {
        Parameters: names.map(read).filter((found) => found !== undefined),
        InvalidParameters: names.filter((name) => read(name) === undefined),
      };
    },

    async PutParameter({ Name, Value, Type, Overwrite }) {
      const name = nameOf(Name);
      const known = find(stored, name);
      if (known && Overwrite !== true) {
        throw new AwsJsonError('ParameterAlreadyExists', 'The parameter already exists.');
      }
      const type = Type ?? known?.type;
      if (type === undefined) {
        throw new AwsJsonError(
          'ValidationException',
          'A parameter type is required when you create a parameter.',
        );
      }
      if (typeof Value !== 'string' || Value === '' || Buffer.byteLength(Value) > MAX_VALUE_BYTES) {
        throw new AwsJsonError('ValidationException', `Value must have 1 to ${MAX_VALUE_BYTES} bytes`);
      }
      const fromTemplate = known?.fromTemplate;
      const change = {
        type: String(type),
        value: Value,
        ...(fromTemplate !== undefined && { fromTemplate }),
      };
      return { Version: await put(stored, name, change), Tier: 'Standard' };
    },
  };
}
