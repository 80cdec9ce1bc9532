import Basics

/// The clients that are connected with an endpoint, each by a number that no other one gets.
package final class OpenClients<Client: Sendable>: Sendable {
    private let state = Guarded<(next: UInt64, open: [UInt64: Client])>((0, [:]))

    package init() {}

    /// Adds a client.
    ///
    /// - Parameter make: makes it for its number.
    package func add(_ make: (UInt64) -> Client) -> Client {
        state.withLock { state in
            let client = make(state.next)
            state.open[state.next] = client
            state.next += 1
            return client
        }
    }

    package func remove(_ number: UInt64) { _ = state.withLock { $0.open.removeValue(forKey: number) } }

    package subscript(number: UInt64) -> Client? { state.withLock { $0.open[number] } }

    package var all: [Client] { state.withLock { Array($0.open.values) } }

    package var count: Int { state.withLock { $0.open.count } }
}
