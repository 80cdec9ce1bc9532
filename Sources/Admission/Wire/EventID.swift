package import HTTPTypes

/// The id of an event: the server's run, and the position in it.
package struct EventID: Sendable, Equatable {
    package var epoch: String
    package var sequence: Int

    package init(epoch: String, sequence: Int) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads the form of `description`; nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= 64, let sequence = Int(parts[1]), sequence >= 0 else { return nil }
        self.init(epoch: String(parts[0]), sequence: sequence)
    }
}

extension EventID: CustomStringConvertible {
    package var description: String { "\(epoch)-\(sequence)" }
}

extension HTTPField.Name {
    package static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .accept
}
