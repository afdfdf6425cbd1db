# Completion of kafka-tools and of the kafka-* commands; written by: kafka-tools completion bash
_kafka_tools_complete() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            file) compopt -o default 2>/dev/null ;;
            dir) compopt -o dirnames 2>/dev/null ;;
            plain)
                COMPREPLY+=("$value")
                if [[ $value == *= ]]; then compopt -o nospace 2>/dev/null; fi
                ;;
        esac
    done < <(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" _KAFKA_TOOLS_COMPLETE=bash_complete kafka-tools 2>/dev/null)
}
complete -F _kafka_tools_complete kafka-tools kafka-topics kafka-topics.sh kafka-configs kafka-configs.sh kafka-scram kafka-scram.sh kafka-acls kafka-acls.sh kafka-delegation-tokens kafka-delegation-tokens.sh kafka-consumer-groups kafka-consumer-groups.sh kafka-groups kafka-groups.sh kafka-share-groups kafka-share-groups.sh kafka-streams-groups kafka-streams-groups.sh kafka-streams-application-reset kafka-streams-application-reset.sh kafka-delete-records kafka-delete-records.sh kafka-get-offsets kafka-get-offsets.sh kafka-leader-election kafka-leader-election.sh kafka-log-dirs kafka-log-dirs.sh kafka-reassign-partitions kafka-reassign-partitions.sh kafka-replica-verification kafka-replica-verification.sh kafka-dump-log kafka-dump-log.sh kafka-storage kafka-storage.sh kafka-metadata-shell kafka-metadata-shell.sh kafka-broker-api-versions kafka-broker-api-versions.sh kafka-cluster kafka-cluster.sh kafka-features kafka-features.sh kafka-metadata-quorum kafka-metadata-quorum.sh kafka-transactions kafka-transactions.sh kafka-client-metrics kafka-client-metrics.sh kafka-console-producer kafka-console-producer.sh kafka-console-consumer kafka-console-consumer.sh kafka-console-share-consumer kafka-console-share-consumer.sh kafka-producer-perf-test kafka-producer-perf-test.sh kafka-consumer-perf-test kafka-consumer-perf-test.sh kafka-share-consumer-perf-test kafka-share-consumer-perf-test.sh kafka-e2e-latency kafka-e2e-latency.sh kafka-verifiable-producer kafka-verifiable-producer.sh kafka-verifiable-consumer kafka-verifiable-consumer.sh kafka-verifiable-share-consumer kafka-verifiable-share-consumer.sh
