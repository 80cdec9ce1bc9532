import Basics
import Conference
import RoomMedia
import Yams

/// Merges the settings: defaults, then the YAML file, then the environment, then flags. File and environment are
/// arguments.
package struct ConfigurationLoader {
    /// A YAML text and its name in faults.
    package struct File: Sendable {
        package var name: String
        package var text: String

        package init(name: String, text: String) {
            self.name = name
            self.text = text
        }
    }

    /// A setting from the command line.
    package struct Flag: Sendable {
        /// `--listen`
        package var name: String
        /// `http.listen`
        package var path: String
        package var values: [String]

        package init(name: String, path: String, values: [String]) {
            self.name = name
            self.path = path
            self.values = values
        }
    }

    private var configuration = TesseraConfiguration()
    private var faults: [ConfigurationFault] = []

    private init() {}

    /// Returns the merged settings, or throws all their faults.
    package static func load(
        file: File? = nil, environment: [String: String] = [:], flags: [Flag] = []
    ) throws(ConfigurationFaults) -> TesseraConfiguration {
        var loader = ConfigurationLoader()
        if let file { loader.read(file) }
        loader.read(environment: environment)
        loader.read(flags: flags)
        if loader.faults.isEmpty { loader.faults = loader.configuration.contradictions() }
        guard loader.faults.isEmpty else { throw ConfigurationFaults(loader.faults) }
        loader.configuration.video.renditions.sort { ($0.height, $0.bitRate) > ($1.height, $1.bitRate) }
        return loader.configuration
    }

    // MARK: YAML

    private mutating func read(_ file: File) {
        do {
            guard let root = try Yams.compose(yaml: file.text) else { return }
            if root.isNull { return }
            guard let mapping = root.mapping else {
                faults.append(
                    ConfigurationFault(
                        key: file.name, value: nil, what: "the file must hold keys such as `http:` and `rooms:`"))
                return
            }
            read(mapping, under: "", in: file.name)
        } catch {
            let words = "\(error)".split(whereSeparator: \.isNewline).map { $0.trimmingPrefix { $0 == " " } }
            faults.append(
                ConfigurationFault(key: file.name, value: nil, what: "not YAML: " + words.joined(separator: " ")))
        }
    }

    private mutating func read(_ mapping: Node.Mapping, under prefix: String, in file: String) {
        for (keyNode, valueNode) in mapping {
            let name = keyNode.scalar?.string ?? "?"
            let path = prefix.isEmpty ? name : "\(prefix).\(name)"
            let place = keyNode.mark.map { "\(file):\($0.line)" } ?? file
            if let key = ConfigurationSchema.byPath[path] {
                apply(RawSetting(valueNode), to: key, named: path, place: place)
            } else if ConfigurationSchema.isSection(path) {
                if let inner = valueNode.mapping {
                    read(inner, under: path, in: file)
                } else if !valueNode.isNull {
                    let keys = ConfigurationSchema.keys.map(\.path).filter { $0.hasPrefix(path + ".") }
                    let what =
                        "must hold keys: " + keys.map { String($0.dropFirst(path.count + 1)) }.joined(separator: ", ")
                    faults.append(
                        ConfigurationFault(key: path, value: RawSetting(valueNode).text, what: what, place: place))
                }
            } else {
                let all = ConfigurationSchema.keys.map(\.path)
                faults.append(unknown(path, value: RawSetting(valueNode), among: all, place: place))
            }
        }
    }

    // MARK: Environment

    private mutating func read(environment: [String: String]) {
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("TESSERA_") {
            if let key = ConfigurationSchema.byEnvironmentName[name] {
                apply(RawSetting(line: text, isList: key.isList), to: key, named: name, place: nil)
            } else if !isMadeByKubernetes(name) {
                faults.append(
                    unknown(
                        name, value: nil, among: ConfigurationSchema.keys.map(\.environmentName), place: "environment"))
            }
        }
    }

    /// Kubernetes sets such variables in every pod for a service named `tessera`; they are no settings.
    private func isMadeByKubernetes(_ name: String) -> Bool {
        name == "TESSERA_PORT" || name.hasPrefix("TESSERA_PORT_") || name.hasPrefix("TESSERA_SERVICE_")
    }

    // MARK: Flags

    private mutating func read(flags: [Flag]) {
        for flag in flags {
            guard let key = ConfigurationSchema.byPath[flag.path] else { continue }
            let raw: RawSetting =
                key.isList
                ? .list(flag.values.map { .scalar($0, quoted: false) }) : .scalar(flag.values.last ?? "", quoted: false)
            apply(raw, to: key, named: flag.name, place: nil)
        }
    }

    // MARK: Both

    private mutating func apply(_ raw: RawSetting, to key: ConfigurationKey, named name: String, place: String?) {
        guard !key.apply(raw, &configuration) else { return }
        let value = key.isSecret ? nil : raw.text
        let what = key.explain(raw) ?? "not allowed; allowed is " + key.allowed
        faults.append(ConfigurationFault(key: name, value: value, what: what, place: place))
    }

    private func unknown(_ name: String, value: RawSetting?, among known: [String], place: String) -> ConfigurationFault
    {
        let hint = Spelling.nearest(name, among: known) ?? suggestionByLastPart(of: name, among: known)
        let what = "there is no such key" + (hint.map { "; did you mean \($0)?" } ?? "; the README lists all")
        return ConfigurationFault(key: name, value: value?.text, what: what, place: place)
    }

    /// `width` at top level means `rooms.width`.
    private func suggestionByLastPart(of name: String, among known: [String]) -> String? {
        let last = name.split(separator: ".").last.map { $0.lowercased() }
        return known.first { $0.split(separator: ".").last.map { $0.lowercased() } == last }
    }
}

extension Node {
    fileprivate var isNull: Bool {
        guard let scalar else { return false }
        return scalar.style == .plain && (scalar.string.isEmpty || scalar.string == "~" || scalar.string == "null")
    }
}

extension RawSetting {
    fileprivate init(_ node: Node) {
        if node.isNull {
            self = .null
        } else if let scalar = node.scalar {
            self = .scalar(scalar.string, quoted: scalar.style == .singleQuoted || scalar.style == .doubleQuoted)
        } else if let sequence = node.sequence {
            self = .list(sequence.map { RawSetting($0) })
        } else if let mapping = node.mapping {
            self = .map(mapping.map { Entry(key: $0.key.scalar?.string ?? "?", value: RawSetting($0.value)) })
        } else {
            self = .null
        }
    }

    /// A list in an environment variable is comma-separated, or YAML in brackets.
    fileprivate init(line: String, isList: Bool) {
        guard isList else {
            self = .scalar(line, quoted: false)
            return
        }
        if line.hasPrefix("["), let node = try? Yams.compose(yaml: line) {
            self = RawSetting(node)
            return
        }
        let parts = line.split(separator: ",").map { part in
            String(part.trimmingPrefix { $0 == " " }.reversed().trimmingPrefix { $0 == " " }.reversed())
        }
        self = .list(parts.map { .scalar($0, quoted: false) })
    }
}
