@testable import Conference

extension ConferenceError {
    /// The name of its case.
    var kind: String {
        Mirror(reflecting: self).children.first?.label ?? String(reflecting: self).split(separator: ".").last.map(
            String.init) ?? ""
    }
}
