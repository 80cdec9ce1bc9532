import Basics
import Conference

extension ConfigurationRule where Value == RoomPresets {
    /// `{NAME or PATTERN: {members of PUT /api/rooms/{room}}}`
    static let presets = ConfigurationRule(
        allowed: "{NAME: {\(PresetReader.keys.joined(separator: ", "))}}",
        explain: { raw in
            do throws(PresetReader.Fault) {
                _ = try PresetReader.read(raw)
                return nil
            } catch {
                return error.text
            }
        }
    ) { raw in try? PresetReader.read(raw) }
}

/// Reads `rooms.presets`.
enum PresetReader {
    /// The fault of one preset, without its values, among which is a PIN.
    struct Fault: Error {
        var text: String
    }

    /// The members of a preset: those of `PUT /api/rooms/{room}` (a test compares them).
    static let keys = [
        "layout", "onPresent", "width", "height", "framesPerSecond", "locked", "layoutLocked", "admit", "pin",
        "hostKey", "muteOnEntry", "share", "chat", "unmute",
        "maxParticipants", "maxViewers", "hls", "views",
    ]

    static func read(_ raw: RawSetting) throws(Fault) -> RoomPresets {
        guard case .map(let entries) = raw else {
            throw Fault(text: "must hold names of rooms, or patterns with *, each with settings")
        }
        guard entries.count <= RoomPresets.most else {
            throw Fault(text: "has more than \(RoomPresets.most) presets")
        }
        var presets: [RoomPresets.Preset] = []
        for entry in entries {
            guard !presets.contains(where: { $0.pattern == entry.key }) else {
                throw Fault(text: "has \(entry.key) a second time")
            }
            let change = try change(entry)
            do throws(ConferenceError) {
                presets.append(try RoomPresets.Preset(pattern: entry.key, change: change))
            } catch {
                throw Fault(text: "\(entry.key): \(error.message)")
            }
        }
        return RoomPresets(presets)
    }

    private static func change(_ entry: RawSetting.Entry) throws(Fault) -> RoomSettingsChange {
        var change = RoomSettingsChange()
        if entry.value == .null { return change }
        guard case .map(let settings) = entry.value else {
            throw Fault(text: "\(entry.key): must hold settings of a room")
        }
        for setting in settings where setting.value != .null {
            let (name, allowed) = ("\(entry.key): \(setting.key)", RoomSettings.allowed)
            func value<Wanted>(_ rule: ConfigurationRule<Wanted>) throws(Fault) -> Wanted {
                guard let value = rule.read(setting.value) else {
                    throw Fault(text: "\(name): not allowed; allowed is \(rule.allowed)")
                }
                return value
            }
            switch setting.key {
            case "layout": change.layout = try value(.text("the name of a layout", where: LayoutDocument.isName))
            case "onPresent": change.onPresent = try value(ConfigurationSchema.onPresent)
            case "width": change.width = try value(.integer(allowed.width, even: true))
            case "height": change.height = try value(.integer(allowed.height, even: true))
            case "framesPerSecond": change.framesPerSecond = try value(.integer(allowed.framesPerSecond))
            case "locked": change.locked = try value(.bool)
            case "layoutLocked": change.layoutLocked = try value(.bool)
            case "admit": change.admit = try value(.choice)
            case "pin": change.pin = try value(.text(RoomPIN.rule))
            case "hostKey": change.hostKey = try value(.text(HostKey.rule) { HostKey($0) != nil })
            case "muteOnEntry": change.muteOnEntry = try value(.bool)
            case "share": change.share = try value(.choice)
            case "chat": change.chat = try value(.choice)
            case "unmute": change.unmute = try value(.choice)
            case "maxParticipants": change.maxParticipants = try value(.integer(allowed.maxParticipants))
            case "maxViewers": change.maxViewers = try value(.integer(allowed.maxViewers))
            case "hls": change.hls = try value(.bool)
            case "views":
                let views = try value(ConfigurationRule<[String: ViewSettings]>.views)
                change.views = views.mapValues { Optional($0) }
            default:
                let hint = Spelling.nearest(setting.key, among: keys).map { "; did you mean \($0)?" } ?? ""
                throw Fault(text: "\(name): there is no such key\(hint); allowed are \(keys.joined(separator: ", "))")
            }
        }
        return change
    }
}
