import Glibc
import Mixing

/// The time and date for a picture's texts, in the server's time zone. They are formatted once a minute.
struct PictureClock {
    private var minute: Int?
    private var time = ""
    private var date = ""

    /// - Parameter now: seconds since 1970.
    mutating func words(room: String, at now: Int) -> PictureWords {
        if minute != now / 60 {
            minute = now / 60
            (time, date) = (Self.format("%H:%M", now), Self.format("%Y-%m-%d", now))
        }
        return PictureWords(room: room, time: time, date: date)
    }

    private static func format(_ pattern: String, _ now: Int) -> String {
        var (seconds, parts) = (time_t(now), tm())
        guard localtime_r(&seconds, &parts) != nil else { return "" }
        var buffer = [CChar](repeating: 0, count: 32)
        let count = strftime(&buffer, buffer.count, pattern, &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
