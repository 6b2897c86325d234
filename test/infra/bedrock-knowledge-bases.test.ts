import { describe, expect, test } from 'vitest';
import { parseSettings } from '#lib/settings.ts';
import { synthesize } from './synthesize.ts';

const settings = { bedrockKnowledgeBases: ['ABCDE12345', 'FGHIJ67890'] };
const { template, statements } = synthesize({ settings });

test('functions that answer messages may query just the listed knowledge bases', () => {
  const granted = [...statements].flatMap(([owner, all]) =>
    all
      .filter(({ Action }) => JSON.stringify(Action).includes('bedrock:'))
      .map(({ Action, Resource }) => ({ owner, Action, Resource })),
  );
  const arnOf = (id: string) => ({
    'Fn::Join': [
      '',
      [
        'arn:',
        { Ref: 'AWS::Partition' },
        ':bedrock:',
        { Ref: 'AWS::Region' },
        ':',
        { Ref: 'AWS::AccountId' },
        `:knowledge-base/${id}`,
      ],
    ],
  });
  const owners = new Set(granted.map(({ owner }) => owner));
  expect(owners).toEqual(new Set(['ProcessBatchItems', 'Chats', 'TestAgent']));
  for (const name of owners)
    expect(
      granted.filter(({ owner }) => owner === name).map(({ Action, Resource }) => [Action, Resource]),
    ).toEqual([['bedrock:Retrieve', settings.bedrockKnowledgeBases.map(arnOf)]]);
});

test('an output tells operators what agents may name', () => {
  expect(template.toJSON().Outputs.BedrockKnowledgeBases).toEqual({ Value: '["ABCDE12345","FGHIJ67890"]' });
});

describe('the setting', () => {
  test('is empty unless said, and then nothing is granted', () => {
    expect(parseSettings({}).bedrockKnowledgeBases).toEqual([]);
  });

  test.each(['*', 'abcde12345', 'ABCDE1234', 'arn:aws:bedrock:eu-west-1:1:knowledge-base/ABCDE12345'])(
    'refuses %s',
    (id) => {
      expect(() => parseSettings({ bedrockKnowledgeBases: [id] })).toThrow(
        'bedrockKnowledgeBases.0: must be an id: ten capital letters and digits',
      );
    },
  );
});
