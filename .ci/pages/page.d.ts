// What the pages use and no file of theirs declares: the libraries, which come minified, and what is known of the elements
// that they ask for. The type checker reads it, and nothing else does.
declare module 'preact' {
  export function h(type: any, props?: any, ...children: any[]): any
  export function render(what: any, where: any): void
  export const options: any, Fragment: any, Component: any, createContext: any, cloneElement: any, toChildArray: any, createRef: any
}
declare module 'preact/hooks' {
  export function useState<T>(first: T | (() => T)): [any, (next: any) => void]
  export function useReducer(reduce: (state: any, event: any) => any, first: any): [any, (event?: any) => void]
  export function useRef(first?: any): { current: any }
  export function useEffect(run: () => any, on?: any[]): void
  export function useLayoutEffect(run: () => any, on?: any[]): void
  export function useMemo<T>(make: () => T, on?: any[]): T
  export function useCallback<T>(run: T, on?: any[]): T
  export function useContext(context: any): any
  export function useErrorBoundary(run?: any): any
  export function useId(): string
}
declare module 'htm' {
  const htm: { bind(h: any): (parts: TemplateStringsArray, ...values: any[]) => any }
  export default htm
}

// An element that is asked for by a selector is what the page made it.
interface Element {
  focus(o?: FocusOptions): void
  value: any
  contentWindow: any
  contentDocument: any
}
interface HTMLElement { value: any, form: HTMLFormElement }
interface Window { uPlot: any }

// What a Problem (lib/api.js) takes from an answer.
interface Error { status?: number, code?: any, retryAfter?: number }
