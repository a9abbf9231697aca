"""Accelerators of other makers: published dense peaks and rental prices, each with its source."""

from decimal import Decimal

from webapp.domain.accelerator import Accelerator

OTHER = (
    Accelerator(
        name="AMD Instinct MI300X",
        vendor="AMD",
        memory_gb=192,
        bandwidth_gb_s=5300,
        bf16_tflops=1307,
        fp8_tflops=2615,
        int8_tops=2615,
        tdp_w=750,
        price_per_hour=Decimal("1.99"),
        price_low=Decimal("1.5"),
        price_high=Decimal("6.0"),
        price_source=(
            "cliffcenter.com 2026-05-18 (TensorWave 1.50, Vultr 1.85, median 1.99); OCI 48/8=6.00"
            " (skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv)"
        ),
        price_date="2026-05",
        spec_source=(
            "abhibambhaniya/GenZ-LLM-Analyzer Systems/system_configs.py (1307 TFLOPS, 192 GB, "
            "5300 GB/s, cites the AMD MI300X data sheet); FP8/INT8/TDP: AMD data sheet restated "
            "on public pages"
        ),
        confidence="high",
    ),
    Accelerator(
        name="AMD Instinct MI325X",
        vendor="AMD",
        memory_gb=256,
        bandwidth_gb_s=6000,
        bf16_tflops=1307,
        fp8_tflops=2615,
        int8_tops=2615,
        tdp_w=1000,
        price_per_hour=Decimal("1.95"),
        price_low=Decimal("1.95"),
        price_source="cliffcenter.com 2026-05-18 (TensorWave 1.95)",
        price_date="2026-05",
        spec_source=(
            "mlcommons/inference_results_v5.1 closed/AMD/systems/8xMI325x_2xEPYC-9655.json (256 "
            "GB HBM3E); rest: tomshardware.com MI355X article table"
        ),
        confidence="medium",
        note="same compute as MI300X",
    ),
    Accelerator(
        name="AMD Instinct MI355X",
        vendor="AMD",
        memory_gb=288,
        bandwidth_gb_s=8000,
        fp8_tflops=5000,
        int8_tops=5000,
        fp4_tflops=10050,
        tdp_w=1400,
        price_per_hour=Decimal("8.6"),
        price_high=Decimal("8.6"),
        price_source=(
            "OCI BM.GPU.MI355X.8 68.8/8=8.60 (skypilot-org/skypilot-catalog "
            "catalogs/v8/oci/vms.csv)"
        ),
        price_date="2026",
        spec_source=(
            "FP8: world-today-news.com ISSCC report (5 PFLOPS); INT8 dense 5 POPS: "
            "svethardware.cz; FP4: tomshardware.com 20.1 PFLOPS, which svethardware.cz says is "
            "with sparsity, so half"
        ),
        confidence="medium",
        note="fp16 dense not confirmed in a source read here (left blank)",
    ),
    Accelerator(
        name="Intel Gaudi 3 (OAM)",
        vendor="Intel",
        memory_gb=128,
        bandwidth_gb_s=3700,
        bf16_tflops=1835,
        fp8_tflops=1835,
        tdp_w=900,
        price_source="no hourly price found",
        spec_source=(
            "abhibambhaniya/GenZ-LLM-Analyzer Systems/system_configs.py (1835, 128 GB, 3675); "
            "awesomeagents.ai Intel Gaudi 3"
        ),
        confidence="medium",
        note="BF16 and FP8 have the same matrix rate; PCIe card 600 W",
    ),
    Accelerator(
        name="Google TPU v5e (chip)",
        vendor="Google",
        memory_gb=16,
        bandwidth_gb_s=819,
        bf16_tflops=197,
        int8_tops=393,
        price_per_hour=Decimal("1.2"),
        price_low=Decimal("1.2"),
        price_high=Decimal("1.42"),
        price_source=(
            "dstackai/gpuhunt src/gpuhunt/resources/tpu_pricing.json (us-central1 on demand; spot"
            " 0.63)"
        ),
        price_date="2025",
        spec_source=(
            "Google Cloud TPU v5e documentation; GenZ-LLM-Analyzer Systems/system_configs.py"
        ),
        confidence="high",
    ),
    Accelerator(
        name="Google TPU v6e Trillium (chip)",
        vendor="Google",
        memory_gb=32,
        bandwidth_gb_s=1638,
        bf16_tflops=918,
        int8_tops=1836,
        price_per_hour=Decimal("2.7"),
        price_low=Decimal("2.7"),
        price_high=Decimal("3.24"),
        price_source=(
            "dstackai/gpuhunt src/gpuhunt/resources/tpu_pricing.json (us-east1 on demand; spot "
            "1.89)"
        ),
        price_date="2025",
        spec_source="Google Cloud TPU v6e documentation",
        confidence="high",
    ),
    Accelerator(
        name="AWS Inferentia2 (chip)",
        vendor="AWS",
        memory_gb=32,
        bandwidth_gb_s=880,
        bf16_tflops=190,
        int8_tops=380,
        price_per_hour=Decimal("0.467"),
        price_low=Decimal("0.328"),
        price_high=Decimal("0.467"),
        price_source=(
            "aws-neuron/aws-neuron-sdk about-neuron/benchmarks/inf2 CSV: effective RI price "
            "inf2.xlarge 0.328, inf2.48xlarge 5.608/12=0.467 per chip"
        ),
        price_date="2024-09",
        spec_source="aws-neuron/aws-neuron-sdk architecture pages (32 GiB; 820 GiB/s)",
        confidence="high",
        note="prices are reserved-instance effective rates; on-demand not confirmed",
    ),
    Accelerator(
        name="AWS Trainium2 (chip)",
        vendor="AWS",
        memory_gb=96,
        bandwidth_gb_s=2900,
        bf16_tflops=667,
        fp8_tflops=1299,
        price_source="no reliable price found (public pages contradict each other)",
        spec_source=(
            "awsdocs-neuron trn2-arch page (16 chips: 10.7 PF bf16, 20.8 PF fp8, 1,536 GiB)"
        ),
        confidence="high",
        note="memory in GiB",
    ),
    Accelerator(
        name="Groq LPU (GroqChip1)",
        vendor="Groq",
        memory_gb=0.23,
        bandwidth_gb_s=80000,
        bf16_tflops=188,
        int8_tops=750,
        price_source="sold as tokens, not hours",
        spec_source="techpowerup.com GroqChip LPU",
        confidence="medium",
        note="SRAM only: hundreds of chips per model; price via API $/M tokens",
    ),
    Accelerator(
        name="Cerebras WSE-3 (CS-3)",
        vendor="Cerebras",
        memory_gb=44,
        bandwidth_gb_s=21000000,
        tdp_w=23000,
        price_source="sold as tokens / systems",
        spec_source="yobitel.com, tomshardware.com and awesomeagents.ai WSE-3 pages",
        confidence="low",
        note=(
            "125 PFLOPS quoted variously as sparse FP16, FP16 and FP8, so compute left blank; "
            "on-die SRAM; 23 kW per system"
        ),
    ),
)
