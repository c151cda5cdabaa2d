// Declares names that the pages use and that no file of the pages declares: the libraries, which are minified, and the
// properties of the elements that the pages query. Only the type checker reads this file.
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

// The pages use the properties of any kind of element on the result of a query by selector.
interface Element {
  focus(o?: FocusOptions): void
  value: any
  contentWindow: any
  contentDocument: any
}
interface HTMLElement { value: any, form: HTMLFormElement }
interface Window { uPlot: any }

// The fields that a Problem (lib/api.js) copies from an answer.
interface Error { status?: number, code?: any, retryAfter?: number }
