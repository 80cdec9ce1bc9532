import Foundation

/// The header `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The time until the next attempt; nil for what is neither seconds nor a date.
    static func parse(_ text: String, now: Date) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let seconds = Int64(text), text.utf8.allSatisfy({ (48...57).contains($0) }) {
            return .seconds(min(seconds, longest))
        }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard text.utf8.count == 29, let date = format.date(from: text) else { return nil }
        return .seconds(min(max(Int64(date.timeIntervalSince(now).rounded(.up)), 0), longest))
    }

    /// In seconds: longer ones would outlast every `retryFor`.
    private static let longest: Int64 = 7 * 86400
}
