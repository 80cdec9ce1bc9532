import Basics
import FoundationEssentials
import Sockets

/// Runs `tessera call`: one or many headless participants against a server.
package enum CallRunner {
    /// Stays in the call for the duration of the options, or until the task is cancelled or the server ends the call.
    /// `report` gets a line about each event that matters to a user, `note` one about each event of the connections.
    package static func run(
        _ options: CallOptions, report: @escaping @Sendable (String) -> Void = { _ in },
        note: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        guard (1...1000).contains(options.count) else {
            throw CallError("--count \(options.count): 1 to 1000 participants")
        }
        let address = try SignallingAddress(options.url)
        let fleet = try Fleet(local: address.isHere ? .v4(0x7F00_0001) : localAddress())
        try fleet.start(options: options)
        defer { fleet.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<options.count {
                group.addTask {
                    // The joins are spread, because servers limit the joins from one address.
                    try await Task.sleep(for: .milliseconds(number * 220))
                    try await Participant(
                        number: number, options: options, fleet: fleet, address: address, report: report, note: note
                    ).run()
                }
            }
            try await group.waitForAll()
        }
    }

    /// The first address of this machine that is not loopback; loopback where there is no other.
    private static func localAddress() -> IPAddress {
        interfaceAddresses().first { address in
            if case .v4 = address { return !address.isLoopback }
            return false
        } ?? .v4(0x7F00_0001)
    }
}
