import { reject, type TemplateResource } from '../template/resource-kind.ts';
import type { PathNode } from './api-model.ts';
import type { ApiResources } from './api-resources.ts';

export interface PathTree {
  readonly root: PathNode;
  /** By resource id. */
  readonly nodes: ReadonlyMap<string, PathNode>;
}

/** Reads the resources of the paths, without their methods. A resource may precede its parent in the template. */
export function readPathTree(
  { ofType, find, read }: ApiResources,
  api: TemplateResource,
  rootResourceId: string,
): PathTree {
  const root: PathNode = {
    resourceId: api.logicalId,
    resourcePath: '/',
    pathPart: '',
    children: [],
    methods: new Map(),
  };
  const nodes = new Map<string, PathNode>([[rootResourceId, root]]);

  function addNode(resource: TemplateResource): PathNode {
    const known = nodes.get(resource.logicalId);
    if (known) return known;
    const { ParentId, PathPart } = read<{ ParentId: string; PathPart: string }>(resource);
    const parentResource = find(ParentId);
    const parent = nodes.get(ParentId) ?? (parentResource && addNode(parentResource));
    if (!parent) return reject(resource, `its parent ${ParentId} is not in the template`);
    const node: PathNode = {
      resourceId: resource.logicalId,
      resourcePath: `${parent === root ? '' : parent.resourcePath}/${PathPart}`,
      pathPart: PathPart,
      children: [],
      methods: new Map(),
    };
    parent.children.push(node);
    nodes.set(resource.logicalId, node);
    return node;
  }

  for (const resource of ofType('Resource')) addNode(resource);
  return { root, nodes };
}
