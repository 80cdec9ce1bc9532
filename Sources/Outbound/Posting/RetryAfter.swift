import Basics
import FoundationEssentials
import Glibc

/// The header `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The time until the next attempt; nil for what is neither seconds nor a date.
    static func parse(_ text: String, now: Date) -> Duration? {
        let text = text.trimmingSpaces()
        if let seconds = Int64(text), text.utf8.allSatisfy({ (48...57).contains($0) }) {
            return .seconds(min(seconds, longest))
        }
        guard text.utf8.count == 29, let date = Self.date(String(text)) else { return nil }
        return .seconds(min(max(Int64(date.timeIntervalSince(now).rounded(.up)), 0), longest))
    }

    /// RFC 9110 §5.6.7, the form that every sender has to use.
    private static func date(_ text: String) -> Date? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[5] == "GMT", let month = months.firstIndex(of: parts[2])
        else { return nil }
        let numbers = ([parts[1], parts[3]] + parts[4].split(separator: ":")).compactMap { Int32($0) }
        guard numbers.count == 5, (1...31).contains(numbers[0]), (1900...9999).contains(numbers[1]),
            (0...23).contains(numbers[2]), (0...59).contains(numbers[3]), (0...60).contains(numbers[4])
        else { return nil }
        var time = tm()
        (time.tm_mday, time.tm_mon, time.tm_year) = (numbers[0], Int32(month), numbers[1] - 1900)
        (time.tm_hour, time.tm_min, time.tm_sec) = (numbers[2], numbers[3], numbers[4])
        return Date(timeIntervalSince1970: TimeInterval(timegm(&time)))
    }

    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// In seconds: longer ones would outlast every `retryFor`.
    private static let longest: Int64 = 7 * 86400
}
