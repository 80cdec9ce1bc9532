package import Basics

/// A limited number of bytes that many clients share, each share free again when the last reference to it ends.
package final class ByteBudget: Sendable {
    package final class Share: Sendable {
        private let budget: ByteBudget
        private let bytes: Int
        private let address: IPAddress?

        fileprivate init(_ budget: ByteBudget, _ bytes: Int, _ address: IPAddress?) {
            self.budget = budget
            self.bytes = bytes
            self.address = address
        }

        deinit { budget.state.withLock { $0.add(-bytes, address) } }
    }

    fileprivate struct State {
        var used = 0
        var ofAddress: [IPAddress: Int] = [:]

        mutating func add(_ bytes: Int, _ address: IPAddress?) {
            used += bytes
            guard let address else { return }
            let own = (ofAddress[address] ?? 0) + bytes
            ofAddress[address] = own > 0 ? own : nil
        }
    }

    private let limit: Int
    /// So that the clients of one address cannot take all.
    private let limitPerAddress: Int
    fileprivate let state = Guarded(State())

    package init(_ bytes: Int, perAddress: Int) {
        limit = bytes
        limitPerAddress = perAddress
    }

    /// Takes a share of this many bytes; nil if fewer are free.
    ///
    /// - Parameter address: the client's for whom the bytes count; nil: they count in total only.
    package func take(_ bytes: Int, for address: IPAddress?) -> Share? {
        let address = address?.clientPrefix
        let isTaken = state.withLock { state in
            let own = address.flatMap { state.ofAddress[$0] } ?? 0
            guard state.used + bytes <= limit, address == nil || own + bytes <= limitPerAddress else { return false }
            state.add(bytes, address)
            return true
        }
        return isTaken ? Share(self, bytes, address) : nil
    }

    /// Bytes that are free.
    package var free: Int { state.withLock { limit - $0.used } }
    /// Bytes of all shares.
    package var used: Int { state.withLock { $0.used } }
}
